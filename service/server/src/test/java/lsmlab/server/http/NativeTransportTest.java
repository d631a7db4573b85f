package lsmlab.server.http;

import static org.junit.jupiter.api.Assertions.assertTrue;

import lsmlab.server.admin.Environment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Checks that the server uses the native transport when the suite runs for it. */
class NativeTransportTest {

  @Test
  @EnabledIfSystemProperty(named = "lsmlab.native_transport", matches = "expected")
  void isInUse() {
    assertTrue(Environment.nativeTransport(), "one-nio fell back to Java's sockets");
  }
}
