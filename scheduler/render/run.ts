import type { TemplateContext } from './template-context.ts';
import { type TemplateLimits, type TemplateSource, templateError } from './template-source.ts';
import { isPrintable, type TextField, type Watch } from './watch-context.ts';

/** One render under way: what is left of its limits, where it is, and what it has written. */
export type Run = {
  readonly source: TemplateSource;
  readonly limits: TemplateLimits;
  /** What the template reads; of a watched render it tells what is read. */
  readonly context: TemplateContext;
  /** The same, for who only compares identities. */
  readonly given: TemplateContext;
  readonly watch: Watch | undefined;
  /** Maps made by this render, which it alone may change: a context is shared by many renders. */
  readonly made: WeakSet<object>;
  stepsLeft: number;
  depth: number;
  /** Offset in the text of what is being evaluated, for errors. */
  at: number;
  out: string;
  /** What is written now stands in the result as it is. */
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

/** Ends the render. @throws FleetError TEMPLATE_FAILED */
export const fail = (run: Run, message: string, hint?: string): never => {
  throw templateError('TEMPLATE_FAILED', run.source, run.at, message, hint);
};

const tooMuch = (run: Run, message: string): never => {
  throw templateError('TEMPLATE_LIMIT', run.source, run.at, message);
};

/** Pays for work before it is done. @throws FleetError TEMPLATE_LIMIT */
export const spend = (run: Run, steps: number): void => {
  run.stepsLeft -= steps;
  if (run.stepsLeft < 0) tooMuch(run, `rendering takes more than ${run.limits.maxSteps} steps`);
};

/** Refuses a text before it is made: `length` is its length or a lower bound. @throws FleetError TEMPLATE_LIMIT */
export const checkLength = (run: Run, length: number): void => {
  if (length > run.limits.maxOutputBytes)
    tooMuch(run, `the text would be longer than ${run.limits.maxOutputBytes} bytes`);
};

/** Refuses a value or a call that is nested too deep. @throws FleetError TEMPLATE_LIMIT */
export const checkDepth = (run: Run, depth: number, what: string): void => {
  if (depth > run.limits.maxDepth) tooMuch(run, `${what} nested deeper than ${run.limits.maxDepth}`);
};

/** Text a function made counts against the length, and each 64 bytes of it for a step. @throws FleetError TEMPLATE_LIMIT */
export const payForText = (run: Run, text: string): void => {
  checkLength(run, text.length);
  run.stepsLeft -= text.length >>> 6;
};

/** Appends to the result. @throws FleetError TEMPLATE_LIMIT */
export const write = (run: Run, text: string): void => {
  run.out += text;
  if (run.out.length > run.limits.maxOutputBytes) checkLength(run, run.out.length);
};

/**
 * Appends a text of the context as it is. In a watched render that is a hole, which another text may fill, and no read:
 * nothing else depends on it. @throws FleetError TEMPLATE_LIMIT
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

/** The result, once it is known to be short enough in bytes. @throws FleetError TEMPLATE_LIMIT */
export const finish = (run: Run): string => {
  // Three bytes a UTF-16 unit at most, so most results need no counting.
  if (run.out.length * 3 > run.limits.maxOutputBytes) checkLength(run, Buffer.byteLength(run.out));
  return run.out;
};
