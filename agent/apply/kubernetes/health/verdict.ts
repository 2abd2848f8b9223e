/**
 * A verdict on an object by its status, with the terms of kstatus. `InProgress` may still become Current; `Failed` will not without a
 * change.
 */
export type Verdict =
  | {
      readonly status: 'Current';
      readonly message: string;
      /** False if the status is empty, which is also the state before a controller processes a new object. */
      readonly proven: boolean;
    }
  | {
      readonly status: 'InProgress' | 'Terminating' | 'NotFound' | 'Unknown';
      readonly message: string;
    }
  | {
      readonly status: 'Failed';
      readonly message: string;
      /** How long it must stay Failed before it counts, in milliseconds; 0 if it cannot recover without help. */
      readonly patienceMs: number;
    };

export type Status = Verdict['status'];

/** Facts besides the object that a verdict depends on. */
export type HealthContext = {
  readonly now: Date;
  /** When a Service of type LoadBalancer is Current: with its cluster IP, or with an external address. */
  readonly loadBalancer: 'clusterIP' | 'address';
  /** Storage classes with volumeBindingMode WaitForFirstConsumer. */
  readonly lateBinding: ReadonlySet<string>;
  /** Whether a Service has a ready endpoint; undefined where that is unknown. Absent: not asked. */
  readonly isServed?: (service: { readonly namespace: string; readonly name: string }) => boolean | undefined;
  /**
   * True for a kind without the status subresource: each write of its status raises `metadata.generation`, so no observed generation
   * ever equals it.
   */
  readonly statusIsField?: boolean;
  /** False for a Job that its package does not suspend: if it is, a queue (Kueue) or a person did, and its work is not done. Default: true. */
  readonly maySuspend?: boolean;
  /** The platform's rule for the object, instead of that of its kind. */
  readonly custom?: ((object: Readonly<Record<string, unknown>>) => Verdict) | undefined;
};

/** Default patience: a crashing pod may wait for another object of the package, so it gets the time of a few restarts. */
const FAILURE_GRACE_MS = 30_000;

export const current = (message: string): Verdict => ({ status: 'Current', message, proven: true });
export const inProgress = (message: string): Verdict => ({ status: 'InProgress', message });
export const failed = (message: string, patienceMs: number = FAILURE_GRACE_MS): Verdict => ({
  status: 'Failed',
  message,
  patienceMs,
});
