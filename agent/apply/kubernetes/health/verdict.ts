/**
 * What an object's own status says about it (the words of kstatus). `InProgress` may still come; `Failed` will not
 * without a change, as far as its status knows.
 */
export type Verdict =
  | {
      readonly status: 'Current';
      readonly message: string;
      /** False where nothing was said yet: a controller that has not looked at its new object looks just like this. */
      readonly proven: boolean;
    }
  | {
      readonly status: 'InProgress' | 'Terminating' | 'NotFound' | 'Unknown';
      readonly message: string;
    }
  | {
      readonly status: 'Failed';
      readonly message: string;
      /** How long it has to stay so before it is believed: 0 where it cannot recover without help. */
      readonly patienceMs: number;
    };

export type Status = Verdict['status'];

/** What a verdict may depend on beside the object. */
export type HealthContext = {
  readonly now: Date;
  /** When a Service of type LoadBalancer is there: with its cluster IP, or with an address from outside. */
  readonly loadBalancer: 'clusterIP' | 'address';
  /** Storage classes that bind a claim only when a pod uses it. */
  readonly lateBinding: ReadonlySet<string>;
};

/** A crash may be the wait for something else of the same package: it gets the time of a few restarts. */
export const PATIENCE_MS = 30_000;

export const current = (message: string): Verdict => ({ status: 'Current', message, proven: true });
export const inProgress = (message: string): Verdict => ({ status: 'InProgress', message });
export const failed = (message: string, patienceMs: number = PATIENCE_MS): Verdict => ({
  status: 'Failed',
  message,
  patienceMs,
});
