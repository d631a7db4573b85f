/** The subcommands of the service's command line: serving, datasets, and listings of what the service can do. */
package lsmlab.server.command;
