/** What a part may know about the machine it is looked for or installed on. */
export type Machine = {
  readonly env: NodeJS.ProcessEnv;
  /** Outside the work tree, kept between runs. */
  readonly cache: string;
  /** The root of this repository. */
  readonly repository: string;
  readonly signal?: AbortSignal;
};

/** A real neighbour that tests talk to: a program, a folder, a facility of the machine. */
export type Part = {
  /** As the reader knows it: 'cosign'. */
  readonly title: string;
  /** The environment variable that carries its path to the tests, and by which a path of one's own can be given. */
  readonly variable: `FLEET_${string}`;
  /** Looks only, quickly and without a network: the path, or undefined. */
  readonly find: (machine: Machine) => string | undefined;
  /** Its version, where the path does not show it. */
  readonly version?: (machine: Machine) => string;
  /** What install does, for the person who waits: 'apt-get install skopeo'. */
  readonly source: string;
  /** Its install is a build that keeps all cores busy: one of those after the other, beside what is only downloaded. */
  readonly isBuilt?: true;
  /** Only tests of a long run ask for it: others do not wait for it. */
  readonly onlyInLong?: true;
  /** Gets it from the registries configured on the machine. Returns its path; throws with one sentence if it cannot. */
  readonly install: (machine: Machine) => Promise<string>;
};
