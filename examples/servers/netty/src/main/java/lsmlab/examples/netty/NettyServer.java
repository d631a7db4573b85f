package lsmlab.examples.netty;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.*;
import lsmlab.examples.contract.Contract;

/** Requests run on the event loop that read them; there are two event loops for each CPU. */
public final class NettyServer extends ChannelInitializer<SocketChannel> {

  @Override
  protected void initChannel(SocketChannel channel) {
    var aggregator = new HttpObjectAggregator(Contract.MAX_BODY_BYTES);
    var keepAlive = new HttpServerKeepAliveHandler();
    channel.pipeline().addLast(new HttpServerCodec(), keepAlive, aggregator, new Responder());
  }

  private static final class Responder extends SimpleChannelInboundHandler<FullHttpRequest> {

    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
      var response = respond(request);
      HttpUtil.setContentLength(response, response.content().readableBytes());
      context.writeAndFlush(response);
    }

    private static FullHttpResponse respond(FullHttpRequest request) {
      boolean root = request.uri().equals("/");
      if (root && request.method().equals(HttpMethod.GET)) {
        return response(
            HttpResponseStatus.OK, Contract.TEXT, Unpooled.wrappedBuffer(Contract.BODY));
      } else if (root && request.method().equals(HttpMethod.POST)) {
        return response(HttpResponseStatus.OK, Contract.JSON, request.content().retain());
      }
      return response(HttpResponseStatus.NOT_FOUND, Contract.TEXT, Unpooled.EMPTY_BUFFER);
    }

    private static FullHttpResponse response(HttpResponseStatus status, String type, ByteBuf body) {
      var response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, body);
      response.headers().set(HttpHeaderNames.CONTENT_TYPE, type);
      return response;
    }
  }

  public static void main(String[] arguments) {
    var loops = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
    var bootstrap = new ServerBootstrap().group(loops).channel(NioServerSocketChannel.class);
    bootstrap.childHandler(new NettyServer());
    Contract.serve(arguments, port -> bootstrap.bind(port).sync());
  }
}
