package lsmlab.storage.os;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.util.Locale;

/**
 * Finds and calls functions of the C library. Keep a handle in a static final field, so that the
 * JIT compiler can inline the call:
 *
 * <pre>{@code
 * private static final MethodHandle NICE = Libc.find("nice", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
 * …
 * if (NICE != null) {
 *   Libc.call(() -> (int) NICE.invokeExact(5));
 * }
 * }</pre>
 */
public final class Libc {

  private static final boolean LINUX =
      System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux");

  private Libc() {}

  /** A call of a handle. */
  public interface Call {
    long invoke() throws Throwable;
  }

  /**
   * Returns a handle of the function. Returns null if the C library lacks it, or if the system is
   * not Linux: constants differ elsewhere.
   */
  public static MethodHandle find(String name, FunctionDescriptor type, Linker.Option... options) {
    Linker linker = Linker.nativeLinker();
    return linker
        .defaultLookup()
        .find(name)
        .filter(address -> LINUX)
        .map(address -> linker.downcallHandle(address, type, options))
        .orElse(null);
  }

  /** Calls a function and returns its result. Throws no checked exception: a handle throws none. */
  public static long call(Call call) {
    try {
      return call.invoke();
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("a function of the C library cannot be called", e);
    }
  }
}
