import static java.lang.classfile.ClassFile.ACC_PUBLIC;
import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.MTD_void;

import java.lang.classfile.ClassFile;
import java.lang.constant.ClassDesc;

/**
 * Computes, allocates and waits for a lock in a thread and a class whose names end lines and scripts, until it is
 * killed. The JVM writes the last characters of each in its own form of UTF-8.
 */
public class Hostile {
  private static volatile Object kept;
  private static Object lock;

  /** Called by the class with the hostile name. */
  public static void work() throws ReflectiveOperationException {
    while (true) {
      synchronized (lock) {
        for (int i = 0; i < 1000; i++) {
          kept = lock.getClass().getConstructor().newInstance();
        }
      }
    }
  }

  public static void main(String[] args) throws Exception {
    ClassDesc name = ClassDesc.ofInternalName("a</script>\nb\u2028\uD835\uDC9C");
    byte[] bytes =
        ClassFile.of()
            .build(
                name,
                type ->
                    type.withFlags(ACC_PUBLIC)
                        .withInterfaceSymbols(ClassDesc.of("java.lang.Runnable"))
                        .withMethodBody(
                            "<init>",
                            MTD_void,
                            ACC_PUBLIC,
                            code -> code.aload(0).invokespecial(CD_Object, "<init>", MTD_void).return_())
                        .withMethodBody(
                            "run",
                            MTD_void,
                            ACC_PUBLIC,
                            code -> code.invokestatic(ClassDesc.of("Hostile"), "work", MTD_void).return_()));
    ClassLoader loader =
        new ClassLoader(Hostile.class.getClassLoader()) {
          @Override
          protected Class<?> findClass(String ignored) {
            return defineClass(null, bytes, 0, bytes.length);
          }
        };
    Class<?> type = loader.loadClass("hostile");
    lock = type.getConstructor().newInstance();
    for (int n = 0; n < 2; n++) {
      Runnable work = (Runnable) type.getConstructor().newInstance();
      Thread worker = new Thread(work, "first\nsecond\0</script> \uD83D\uDE00");
      worker.setDaemon(true);
      worker.start();
    }
    System.out.println("ready");
    Thread.sleep(Long.MAX_VALUE);
  }
}
