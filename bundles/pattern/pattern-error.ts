/** Why a regular expression cannot be used. `reason` completes "the pattern ... ". */
export class PatternError extends Error {
  /** true where the expression is correct, but over a limit or outside of what RE2 can do. */
  readonly beyond: boolean;

  constructor(reason: string, beyond = false) {
    super(reason);
    this.beyond = beyond;
  }
}
