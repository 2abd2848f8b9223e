import type { TemplateContext, TextField } from '../model/template-context.ts';
import { type TemplateLimits, type TemplateSource, templateError } from './template-source.ts';
import { isPrintable, type Watch } from './watch-context.ts';

/** State of one render: its remaining limits, its position, and its output. */
export type Run = {
  readonly source: TemplateSource;
  readonly limits: TemplateLimits;
  /** The context that the template reads; a watched render records the fields that it reads. */
  readonly context: TemplateContext;
  /** The context without recording, to compare identities. */
  readonly given: TemplateContext;
  readonly watch: Watch | undefined;
  /** Maps created by this render. It may modify only these, because renders share the context. */
  readonly made: WeakSet<object>;
  stepsLeft: number;
  depth: number;
  /** Offset in the template of what is being evaluated, for errors. */
  at: number;
  out: string;
  /** Whether output goes into the result unchanged; false inside an indented partial. */
  verbatim: boolean;
};

export const startRun = (
  source: TemplateSource,
  limits: TemplateLimits,
  given: TemplateContext,
  watch?: Watch,
): Run => ({
  source,
  limits,
  context: watch?.context ?? given,
  given,
  watch,
  made: new WeakSet(),
  stepsLeft: limits.maxSteps,
  depth: 0,
  at: 0,
  out: '',
  verbatim: true,
});

/** Aborts the render. @throws FleetError TEMPLATE_FAILED */
export const fail = (run: Run, message: string, hint?: string): never => {
  throw templateError('TEMPLATE_FAILED', run.source, run.at, message, hint);
};

const tooMuch = (run: Run, message: string): never => {
  throw templateError('TEMPLATE_LIMIT', run.source, run.at, message);
};

/** Charges steps before the work is done. @throws FleetError TEMPLATE_LIMIT */
export const chargeSteps = (run: Run, steps: number): void => {
  run.stepsLeft -= steps;
  if (run.stepsLeft < 0) tooMuch(run, `rendering takes more than ${run.limits.maxSteps} steps`);
};

/** Refuses a text before it is created; `length` is its length or a lower bound. @throws FleetError TEMPLATE_LIMIT */
export const checkLength = (run: Run, length: number): void => {
  if (length > run.limits.maxOutputBytes)
    tooMuch(run, `the text would be longer than ${run.limits.maxOutputBytes} bytes`);
};

/** Refuses a value or call that is nested too deep. @throws FleetError TEMPLATE_LIMIT */
export const checkDepth = (run: Run, depth: number, what: string): void => {
  if (depth > run.limits.maxDepth) tooMuch(run, `${what} nested deeper than ${run.limits.maxDepth}`);
};

/**
 * Charges for a text that a function returned: its length, and a step for each 64 UTF-16 units.
 * @throws FleetError TEMPLATE_LIMIT
 */
export const chargeText = (run: Run, text: string): void => {
  checkLength(run, text.length);
  run.stepsLeft -= text.length >>> 6;
};

/** Appends to the output. @throws FleetError TEMPLATE_LIMIT */
export const write = (run: Run, text: string): void => {
  run.out += text;
  if (run.out.length > run.limits.maxOutputBytes) checkLength(run, run.out.length);
};

/**
 * Appends a text field verbatim. In a watched render this is recorded as a hole and not as a read, because only the output
 * depends on it.
 * @throws FleetError TEMPLATE_LIMIT
 */
export const writeField = (run: Run, field: TextField): void => {
  const value = run.given[field];
  if (!run.watch || !run.verbatim || !isPrintable(value)) {
    write(run, run.context[field]);
    return;
  }
  run.watch.holes.push({ at: run.out.length, field });
  write(run, value);
};

/** The output, after a check of its length in bytes. @throws FleetError TEMPLATE_LIMIT */
export const finish = (run: Run): string => {
  // A UTF-16 unit has at most three bytes, so most results need no count.
  if (run.out.length * 3 > run.limits.maxOutputBytes) checkLength(run, Buffer.byteLength(run.out));
  return run.out;
};
