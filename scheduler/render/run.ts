import type { TemplateContext } from './template-context.ts';
import { type TemplateLimits, type TemplateSource, templateError } from './template-source.ts';

/** One render under way: what is left of its limits, where it is, and what it has written. */
export type Run = {
  readonly source: TemplateSource;
  readonly limits: TemplateLimits;
  readonly context: TemplateContext;
  /** Maps made by this render, which it alone may change: a context is shared by many renders. */
  readonly made: WeakSet<object>;
  stepsLeft: number;
  depth: number;
  /** Offset in the text of what is being evaluated, for errors. */
  at: number;
  out: string;
};

export const startRun = (source: TemplateSource, limits: TemplateLimits, context: TemplateContext): Run => ({
  source,
  limits,
  context,
  made: new WeakSet(),
  stepsLeft: limits.maxSteps,
  depth: 0,
  at: 0,
  out: '',
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

/** The result, once it is known to be short enough in bytes. @throws FleetError TEMPLATE_LIMIT */
export const finish = (run: Run): string => {
  // Three bytes a UTF-16 unit at most, so most results need no counting.
  if (run.out.length * 3 > run.limits.maxOutputBytes) checkLength(run, Buffer.byteLength(run.out));
  return run.out;
};
