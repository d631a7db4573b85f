package lsmlab.examples.springboot;

import java.util.Map;
import lsmlab.examples.contract.Contract;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/** Requests run on the pool of at most 200 threads of the Tomcat in Spring Boot. */
@SpringBootApplication
@RestController
public class SpringBootServer {

  @GetMapping(path = "/", produces = Contract.TEXT)
  byte[] get() {
    return Contract.BODY;
  }

  @PostMapping(path = "/", produces = Contract.JSON)
  byte[] post(@RequestBody byte[] body) {
    return body;
  }

  public static void main(String[] arguments) {
    Contract.serve(
        arguments,
        port -> {
          SpringApplication application = new SpringApplication(SpringBootServer.class);
          application.setDefaultProperties(
              Map.of("server.port", port, "server.tomcat.max-keep-alive-requests", -1));
          application.run();
        });
  }
}
