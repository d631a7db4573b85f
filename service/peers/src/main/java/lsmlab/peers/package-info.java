/**
 * Other people's storage engines behind {@link lsmlab.storage.Engine}: what ours is compared with.
 *
 * <p>Each keeps the promises of that interface with its own means, and is called the fastest way its Java interface
 * offers, so that a comparison measures the engine and not the wrapper. Each keeps its own defaults save for what the
 * class comment names. Another peer is one class and one line in {@link lsmlab.peers.PeerEngines}.
 */
package lsmlab.peers;
