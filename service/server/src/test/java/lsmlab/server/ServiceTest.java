package lsmlab.server;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.BindException;
import org.junit.jupiter.api.Test;

class ServiceTest {

  @Test
  void theAdviceForAPortFitsTheReason() {
    assertEquals(
        "data port h:1 cannot be used (Address already in use): stop the program that uses it, or set another data_port",
        Service.cannotBind("data", "h", 1, new BindException("Address already in use")));
    assertEquals(
        "admin port h:1 cannot be used (Too many open files): raise the limit of open files (ulimit -n)",
        Service.cannotBind("admin", "h", 1, new IOException("Too many open files")));
    assertEquals(
        "admin port h:1 cannot be used (Cannot assign requested address): set another admin_host or admin_port",
        Service.cannotBind("admin", "h", 1, new BindException("Cannot assign requested address")));
    assertEquals(
        "data port h:1 cannot be used (Permission denied): set another data_host or data_port",
        Service.cannotBind("data", "h", 1, new BindException("Permission denied")));
  }
}
