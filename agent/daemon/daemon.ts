import type { Poll } from '../acquire/poll-registry.ts';
import type { RunExclusively, Pulled } from '../acquire/pull-release.ts';
import type { Look } from './look-around.ts';
import type { Sleep, WakeSignal } from './wake-signal.ts';
import type { ContactKeeper } from '../store/contact.ts';
import type { Log } from '../model/log.ts';
import type { Progress } from './progress.ts';
import type { Publisher } from '../publish/create-publisher.ts';
import type { Windows } from '#bundles/windows';

/** The dependencies of the daemon as functions, so that a test can replace the environment and the clock. */
export type Daemon = {
  /** Performs one look under the lock of the state directory; `news` ends it early. */
  readonly look: (how: { readonly mayBegin: boolean; readonly news: AbortSignal }) => Promise<Look>;
  /** Milliseconds from the end of one look to the start of the next. */
  readonly intervalMs: number;
  readonly windows: Windows;
  readonly registry?: {
    readonly poll: () => Promise<Poll>;
    readonly pull: (seen: Poll, exclusively: RunExclusively) => Promise<Pulled>;
    readonly contact: ContactKeeper;
  };
  readonly hub?: {
    /** Renews the certificate if due, uploads waiting events or signals presence. Returns whether the hub was contacted. */
    readonly visit: (how: { readonly present: boolean }) => Promise<boolean>;
    readonly contact: ContactKeeper;
  };
  /** Watches objects that packages own, for targets that support it, to look sooner. */
  readonly watch?: {
    /** A digest of the owned keys; when it changes, the watch has to be restarted. */
    readonly owned: () => string;
    readonly follow: (onChange: (keys: readonly string[]) => void, signal: AbortSignal) => Promise<void>;
  };
  /** Time of the next retry or health check; undefined if none is scheduled. */
  readonly nextAttempt?: () => Date | undefined;
  readonly hear?: (on: {
    /** An operator's command changed the state, or the health of a package was judged. */
    readonly changed: () => void;
    /** An operator's command waits for the lock of the state directory. */
    readonly asked: () => void;
  }) => void;
  readonly pollMs: number;
  /** Deadline of the loop of looks; absent where nothing watches it. */
  readonly progress?: Progress;
  /** Shows the agent's state; absent where a test has no use for it. */
  readonly publisher?: Publisher;
  /** Runs one piece of work at a time, with the state directory locked. */
  readonly exclusively: RunExclusively;
  readonly now: () => Date;
  readonly random: () => number;
  readonly sleep: Sleep;
  readonly log: Log;
  readonly signal: AbortSignal;
};

/** Signals between the three loops. */
export type Rounds = {
  /** Wakes the look: there is something to apply. */
  readonly look: WakeSignal;
  /** Wakes the visit of the hub: there are events to report. */
  readonly hub: WakeSignal;
  /** Wakes the publication: something may have changed. */
  readonly publish: WakeSignal;
  /** Ends the retry pause of one peer when the other answers again, because usually the network has come back. */
  readonly back: { readonly registry: WakeSignal; readonly hub: WakeSignal };
  /** Ends the current look after its package, and its health wait immediately. */
  news: AbortController;
};
