package lsmlab.storage;

import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Checks the structure of the module: which package may use which. */
class PackagesTest {

  private static final int FILES_MAX = 25;

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .importUrl(Engine.class.getProtectionDomain().getCodeSource().getLocation());

  @Test
  void noPackageDependsOnItselfThroughOthers() {
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
    assertTrue(files.size() > 5, files.toString());
    assertTrue(files.values().stream().allMatch(count -> count <= FILES_MAX), files.toString());
  }

  /** Each package, including the root package, is one slice. */
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
