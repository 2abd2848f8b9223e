import type { Outcome, RunOptions } from '../run/run-command.ts';
import type { ApiClient } from './api-client.ts';
import type { AuditEvent } from './audit-log.ts';

/**
 * A Kubernetes API that tests may write to. Where it was given (FLEET_TEST_KUBECONFIG) others may use it as well: a
 * test makes namespaces of its own and removes them.
 */
export type Cluster = AsyncDisposable & {
  readonly how: ClusterKind;
  /** Fake nodes run nothing, so any image does; on real ones images must be there to be pulled. */
  readonly nodes: 'fake' | 'real';
  /** Path of a kubeconfig with all rights. */
  readonly kubeconfig: string;
  /** 'https://127.0.0.1:PORT' */
  readonly server: string;
  /** The outcome, whatever the exit code is. */
  readonly kubectl: (args: readonly string[], options?: RunOptions) => Promise<Outcome>;
  /** With the rights of `kubeconfig`. */
  readonly request: ApiClient['request'];
  /** Gives its nodes the images of an OCI archive, by the names that the archive has for them (writePinnedArchive). */
  readonly bringImages: (archive: string) => Promise<void>;
};

/** See chooseCluster for the order of all but 'node', which is asked for by name (startNodeCluster). */
export type ClusterKind = 'given' | 'k3d' | 'assets' | 'own' | 'node';

/** A cluster whose API server is ours to stop. Controllers, scheduler and kwok stop and start with it. */
export type OwnCluster = Cluster & {
  readonly how: 'own' | 'assets';
  /** SIGTERM, and waits: requests under way get their answers. Refused connections from then on. */
  readonly stopApiServer: () => Promise<void>;
  /** SIGKILL, and waits. */
  readonly killApiServer: () => Promise<void>;
  /** On the same port, with the same certificate; returns when /readyz says ok. */
  readonly startApiServer: () => Promise<void>;
  readonly restartApiServer: () => Promise<void>;
  /** What was asked of the API server, oldest first; with `audit: true` only, else empty. */
  readonly readAudit: () => Promise<readonly AuditEvent[]>;
};
