package lsmlab.server.http;

import static org.junit.jupiter.api.Assertions.assertTrue;

import lsmlab.server.admin.Environment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Where the whole suite is run for the native transport's sake, it is to be the one that is tested. */
class NativeTransportTest {

  @Test
  @EnabledIfSystemProperty(named = "lsmlab.native_transport", matches = "expected")
  void isInUse() {
    assertTrue(Environment.nativeTransport(), "one-nio fell back to Java's sockets");
  }
}
