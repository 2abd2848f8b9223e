import type { Place } from '#bundles/errors';

/** A freshly installed host of a cluster type: what apt solves the dependencies of Debian packages against. */
export type DebianBase = {
  readonly name: string;
  /** Debian's name: amd64, arm64. */
  readonly architecture: string;
  /** The text of a file in /etc/apt/sources.list.d (deb822-style, sources.list(5)). */
  readonly sources: string;
  /** The dpkg status file of the host, as text. */
  readonly status: string;
  /** Packages that others recommend are installed, too. */
  readonly recommends: boolean;
  readonly at: Place;
};
