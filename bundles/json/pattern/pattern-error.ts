/** Why a regular expression cannot be used. `reason` completes "the pattern ... ". */
export class PatternError extends Error {
  /** Whether the expression is correct but exceeds a limit or needs a feature that RE2 lacks. */
  readonly beyond: boolean;

  constructor(reason: string, beyond = false) {
    super(reason);
    this.beyond = beyond;
  }
}
