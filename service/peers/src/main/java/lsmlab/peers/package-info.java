/**
 * Other storage engines behind {@link lsmlab.storage.Engine}, with which the lab's own is compared.
 *
 * <p>Each keeps the promises of that interface by its own means. Each is called in the fastest way
 * that its Java API offers, so that a comparison measures the engine and not the wrapper. Each uses
 * its own defaults, except for those that the class comment names. To add a peer, write one class
 * and one line in {@link lsmlab.peers.PeerEngines}.
 */
package lsmlab.peers;
