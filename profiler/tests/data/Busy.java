import java.util.concurrent.locks.ReentrantLock;

/** Computes, allocates and waits for a lock, in methods of these names, until it is killed: `Busy [THREADS]`. */
public class Busy {
  private static final ReentrantLock LOCK = new ReentrantLock();
  private static volatile long sink;
  private static volatile byte[] kept;

  private static void compute(long millis) {
    long end = System.nanoTime() + millis * 1_000_000;
    long x = 1;
    while (System.nanoTime() < end) {
      for (int i = 0; i < 1000; i++) {
        x = x * 31 + i;
      }
    }
    sink = x;
  }

  private static void allocate() {
    for (int i = 0; i < 2000; i++) {
      kept = new byte[1024];
    }
  }

  private static void contend() {
    LOCK.lock();
    try {
      compute(1);
    } finally {
      LOCK.unlock();
    }
  }

  public static void main(String[] args) throws InterruptedException {
    int threads = args.length == 0 ? 3 : Integer.parseInt(args[0]);
    for (int n = 0; n < threads; n++) {
      Thread worker =
          new Thread(
              () -> {
                while (true) {
                  compute(1);
                  allocate();
                  contend();
                }
              },
              "busy-worker-" + n);
      worker.setDaemon(true);
      worker.start();
    }
    System.out.println("ready");
    Thread.sleep(Long.MAX_VALUE);
  }
}
