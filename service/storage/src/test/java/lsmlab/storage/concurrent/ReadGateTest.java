package lsmlab.storage.concurrent;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class ReadGateTest {

  @Test
  void waitsForASectionThatHasBegun() throws InterruptedException {
    ReadGate gate = new ReadGate();
    int ticket = gate.enter();
    CountDownLatch over = new CountDownLatch(1);
    Thread waiter =
        Thread.ofPlatform()
            .start(
                () -> {
                  gate.awaitReaders();
                  over.countDown();
                });
    assertFalse(over.await(50, TimeUnit.MILLISECONDS));
    gate.exit(gate.enter());
    assertFalse(over.await(50, TimeUnit.MILLISECONDS), "a later section does not end the wait");
    gate.exit(ticket);
    waiter.join();
    gate.awaitReaders();
  }

  /**
   * Replaces a pointer and then destroys its old target: no reader may ever see a destroyed target.
   */
  @Test
  void noReaderSeesADestroyedTarget() throws InterruptedException {
    ReadGate gate = new ReadGate();
    AtomicReference<AtomicBoolean> pointer = new AtomicReference<>(new AtomicBoolean(true));
    AtomicBoolean stop = new AtomicBoolean();
    AtomicBoolean met = new AtomicBoolean();
    List<Thread> readers = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      readers.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    while (!stop.get()) {
                      int ticket = gate.enter();
                      AtomicBoolean alive = pointer.get();
                      Thread.onSpinWait();
                      if (!alive.get()) {
                        met.set(true);
                      }
                      gate.exit(ticket);
                    }
                  }));
    }
    for (int i = 0; i < 300; i++) {
      AtomicBoolean old = pointer.getAndSet(new AtomicBoolean(true));
      gate.awaitReaders();
      old.set(false);
    }
    stop.set(true);
    for (Thread reader : readers) {
      reader.join();
    }
    assertFalse(met.get());
    assertTrue(pointer.get().get());
  }
}
