/** Functions of the operating system that Java has no class for. */
package lsmlab.storage.os;
