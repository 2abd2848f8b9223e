import type { Poll } from '../acquire/poll-registry.ts';
import type { Exclusively, Pulled } from '../acquire/pull-release.ts';
import type { Look } from '../observe/look-around.ts';
import type { Bell, Sleep } from './bell.ts';
import type { ContactKeeper } from './contact.ts';
import type { Log } from './log.ts';
import type { Windows } from './windows.ts';

/** Everything the daemon does, as functions: a test replaces the world by a few lines, and time by a list of rests. */
export type Daemon = {
  /** One look under the lock of the state directory; `news` ends it early. */
  readonly look: (how: { readonly mayBegin: boolean; readonly news: AbortSignal }) => Promise<Look>;
  /** From the end of one look to the start of the next. */
  readonly intervalMs: number;
  readonly windows: Windows;
  readonly registry?: {
    readonly poll: () => Promise<Poll>;
    readonly pull: (seen: Poll, exclusively: Exclusively) => Promise<Pulled>;
    readonly contact: ContactKeeper;
  };
  readonly hub?: {
    /** Renews what is due, hands over what waits, or just says that it is there. Says whether the hub was asked at all. */
    readonly visit: (how: { readonly present: boolean }) => Promise<boolean>;
    readonly contact: ContactKeeper;
  };
  /** Follows what packages own, where a target can: tells when to look sooner. */
  readonly watch?: {
    /** What is owned now; another word than before: what is followed is to be chosen anew. */
    readonly owned: () => string;
    readonly follow: (onChange: (keys: readonly string[]) => void, signal: AbortSignal) => Promise<void>;
  };
  /** When something that failed is tried again, or an unhealthy package is judged again; undefined: nothing waits. */
  readonly nextAttempt?: () => Date | undefined;
  readonly hear?: (on: {
    /** A person's command changed something here, or a package's health was judged. */
    readonly changed: () => void;
    /** A person's command waits for the state directory. */
    readonly asked: () => void;
  }) => void;
  readonly pollMs: number;
  /** Runs one piece of work at a time, with the state directory locked. */
  readonly exclusively: Exclusively;
  readonly now: () => Date;
  readonly random: () => number;
  readonly sleep: Sleep;
  readonly log: Log;
  readonly signal: AbortSignal;
};

/** What the three loops tell each other. */
export type Rounds = {
  /** Look now: something is to be applied. */
  readonly look: Bell;
  /** Visit the hub now: something is to be told. */
  readonly hub: Bell;
  /** Ends the patience with one peer, as the other has begun to answer again: mostly the cable is back. */
  readonly back: { readonly registry: Bell; readonly hub: Bell };
  /** Ends the look in hand after its package, and its health wait at once. */
  news: AbortController;
};
