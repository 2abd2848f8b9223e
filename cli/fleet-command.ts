import { Command, Errors, Flags, type Interfaces, ux } from '@oclif/core';
import {
  type FleetError,
  formatError,
  isFleetError,
  plainLine,
  plainText,
  FleetError as Refusal,
  toFleetError,
} from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';
import { formatLines, formatTable, type Printed } from './format-table.ts';
import { lineWidth } from './line-width.ts';
import { suggestFlag } from './suggest-flag.ts';
import { paint } from './paint.ts';
import { usageSentence } from './usage-sentence.ts';

/** Values of flags or arguments by name, as oclif declares them. */
type Output = Interfaces.OutputFlags<Interfaces.FlagInput>;

/**
 * Base of all commands of the three programs: `--json`, an AbortSignal for SIGINT and SIGTERM, one reading of the clock, and
 * user errors as one sentence with the exit code of the catalogue, without a stack trace.
 */
export abstract class FleetCommand extends Command {
  static override enableJsonFlag = true;
  static override baseFlags = {
    now: Flags.string({
      hidden: true,
      description: 'Use this as the current time (for reproducible builds and tests)',
      env: 'FLEET_NOW',
    }),
  };

  readonly #controller = new AbortController();

  /** Aborts on SIGINT and SIGTERM: the step under way ends, nothing half-written stays. */
  protected get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The time of this run, read once at the edge. */
  protected readNow(text: string | undefined): Date {
    if (text === undefined) return new Date();
    const date = new Date(text);
    if (!Number.isNaN(date.getTime())) return date;
    throw new Refusal('USAGE', `--now ${JSON.stringify(text)} is not a time`, {
      hint: 'Write it like 2026-11-21T08:00:00Z',
    });
  }

  protected override async init(): Promise<void> {
    await super.init();
    const stop = (): void => this.#controller.abort();
    process.once('SIGINT', stop);
    process.once('SIGTERM', stop);
  }

  /**
   * Without oclif's search for a missing argument on standard input, which takes what arrives there within 10 ms.
   * @throws FleetError USAGE for an argument or a required flag without a text, as `--out "$UNSET"`
   */
  protected override async parse<F extends Output, B extends Output, A extends Output>(
    options?: Interfaces.Input<F, B, A>,
    argv?: string[],
  ): Promise<Interfaces.ParserOutput<F, B, A>> {
    for (const arg of Object.values(options?.args ?? {})) arg.ignoreStdin = true;
    const parsed = await super.parse(options, argv);
    const flags = Object.entries(options?.flags ?? {}).filter(([, { required }]) => required);
    const arg = emptyOf(Object.keys(options?.args ?? {}), parsed.args);
    const flag = emptyOf(
      flags.map(([name]) => name),
      parsed.flags,
    );
    const empty = arg ? `the argument ${arg.toUpperCase()}` : flag && `--${flag}`;
    if (empty) throw new Refusal('USAGE', `${empty} is empty`, { hint: 'See --help' });
    return parsed;
  }

  /** Prints one line. Output may quote untrusted media and reports: control characters and line breaks in it are escaped. */
  override log(message = '', ...args: readonly unknown[]): void {
    super.log(paint(plainLine(message), process.stdout), ...args);
  }

  /** Prints a text of several lines, each of which its maker has passed through plainLine where it quotes untrusted text. */
  protected logText(text: string): void {
    super.log(paint(plainText(text), process.stdout));
  }

  /** Prints lines and tables; a table within the width of the terminal. */
  protected print(...printed: readonly (Printed | readonly Printed[])[]): void {
    if (this.jsonEnabled()) return;
    const lines = formatLines(printed.flat(), lineWidth(process.stdout, process.env));
    // One write: of thousands of lines, each in its own takes as long as all else.
    if (lines.length > 0) super.log(lines.map((line) => paint(plainLine(line), process.stdout)).join('\n'));
  }

  protected override logJson(json: unknown): void {
    ux.stdout(plainText(JSON.stringify(json, null, 2)));
  }

  override warn(input: string | Error): string | Error {
    return super.warn(plainLine(typeof input === 'string' ? input : input.message));
  }

  /** A note, a warning or progress, for people: on standard error, so that the result on standard output can be piped. */
  protected say(printed: Printed): void {
    if (this.jsonEnabled()) return;
    // A sentence is for the terminal to break: a person may copy a command out of it.
    const lines =
      typeof printed === 'string' ? [printed] : formatTable(printed, lineWidth(process.stderr, process.env));
    for (const line of lines) process.stderr.write(`${paint(plainLine(line), process.stderr)}\n`);
  }

  protected override async catch(error: Error & { oclif?: unknown }): Promise<unknown> {
    const refusal = asRefusal(error, this.ctor);
    if (refusal === undefined) throw error;
    // Prevents the warning of oclif about an unparsed command line when NODE_ENV is not production.
    this.parsed = true;
    process.exitCode = refusal.exitCode;
    if (this.jsonEnabled()) {
      this.logJson(this.toErrorJson(refusal));
    } else {
      process.stderr.write(`${paint(`${this.config.bin}: ${formatError(refusal)}`, process.stderr)}\n`);
      if (refusal.code === 'INTERNAL')
        process.stderr.write(`${plainText((refusal.cause instanceof Error && refusal.cause.stack) || '')}\n`);
    }
    return undefined;
  }

  protected override toErrorJson(error: unknown): unknown {
    return errorJson(isFleetError(error) ? error : toFleetError(error));
  }
}

/** The first of the names whose value is, or has, the empty text. */
const emptyOf = (names: readonly string[], values: Readonly<Record<string, unknown>>): string | undefined =>
  names.find((name) => [values[name]].flat().includes(''));

/** Result of `--json` for an error. */
export const errorJson = ({ code, message, subject, at, hint, retryable }: FleetError) => ({
  error: { code, message, subject, at, hint, retryable },
});

/** Turns an oclif parse error into one sentence. */
export const usageError = (error: Errors.CLIError, hint: string): FleetError =>
  new Refusal('USAGE', usageSentence(error.message), { hint });

/** 'Did you mean --platform? ' for flags that a verb does not have, and for an argument that belongs to a flag. */
const meantFlags = (error: Errors.CLIError, { flags, baseFlags }: typeof Command): string => {
  if ('args' in error && Array.isArray(error.args) && error.args.length === 1)
    return suggestFlag(String(error.args[0]), flags);
  const wrong = 'flags' in error && Array.isArray(error.flags) ? error.flags.map(String) : [];
  const known = Object.entries({ ...baseFlags, ...flags })
    .filter(([, { hidden }]) => hidden !== true)
    .map(([name]) => `--${name}`);
  return wrong.map((flag) => didYouMean(flag, [...known, '--json', '--help']) ?? '').join('');
};

/** Our errors and the operating system's; oclif's own parse errors become USAGE; its exits pass (undefined). */
const asRefusal = (error: unknown, command: typeof Command): FleetError | undefined => {
  if (error instanceof Errors.ExitError) return undefined;
  if (error instanceof Errors.CLIError) {
    return usageError(error, `${meantFlags(error, command)}See --help`);
  }
  return toFleetError(error);
};
