package lsmlab.bench;

import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Checks the structure of all modules, since this one is built last: which package may use which. */
class PackagesTest {

  private static final int FILES_MAX = 25;

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("lsmlab");

  @Test
  void packagesHaveNoCycles() {
    slices().assignedFrom(new ByPackage()).should().beFreeOfCycles().check(CLASSES);
  }

  @Test
  void aPackageIsSmallEnoughToRead() {
    Map<String, Integer> files = new TreeMap<>();
    for (JavaClass each : CLASSES) {
      if (each.isTopLevelClass() && !each.getSimpleName().equals("package-info")) {
        files.merge(each.getPackageName(), 1, Integer::sum);
      }
    }
    for (String root : List.of("lsmlab.storage", "lsmlab.peers", "lsmlab.server", "lsmlab.bench")) {
      assertTrue(files.containsKey(root), root);
    }
    files.values().removeIf(count -> count <= FILES_MAX);
    assertEquals(Map.of(), files);
  }

  /** Each package, including the root packages, is one slice. */
  private static final class ByPackage implements SliceAssignment {
    @Override
    public SliceIdentifier getIdentifierOf(JavaClass javaClass) {
      return SliceIdentifier.of(javaClass.getPackageName());
    }

    @Override
    public String getDescription() {
      return "packages";
    }
  }
}
