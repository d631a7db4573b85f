package lsmlab.server.http;

import static org.junit.jupiter.api.Assertions.assertTrue;

import lsmlab.server.admin.Environment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** When the suite runs for the native transport, the server must really use it. */
class NativeTransportTest {

  @Test
  @EnabledIfSystemProperty(named = "lsmlab.native_transport", matches = "expected")
  void isInUse() {
    assertTrue(Environment.nativeTransport(), "one-nio fell back to Java's sockets");
  }
}
