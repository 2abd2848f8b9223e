import type { CommandResult, Run } from '../host-options.ts';
import type { PlaybookReport } from '../step-request.ts';

/** Inputs of a step. */
export type StepWork = {
  /** The agent's state directory. */
  readonly state: string;
  /** The verified content. */
  readonly content: string;
  /** A folder of its own beside the content, removed after the step. */
  readonly scratch: string;
  readonly run: Run;
  readonly signal: AbortSignal;
};

/** How the program of a step ended. `message` says in one sentence why it failed; undefined for success. */
export type StepEnd = CommandResult & {
  readonly message: string | undefined;
  readonly report?: PlaybookReport;
  /** Set if the host, not the release, is the cause of a failure: what helps. */
  readonly surroundings?: string;
  /** Of a success: what the host did wrong beside it. */
  readonly note?: string;
};
