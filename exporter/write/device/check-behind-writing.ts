import { type FileSpan, holdsSpan, type ReadBackOptions } from '../../plan/medium/read-back.ts';

/** Checks a file while it is written. Stops when disposed. */
export type CheckBehind<Span extends FileSpan> = AsyncDisposable & {
  /** Reports that the file is on the device up to an offset, so that spans before it can be checked. @throws the error of an earlier check */
  readonly reached: (offset: number) => void;
  /** Waits for all checks. @returns the first span in file order that is wrong */
  readonly end: () => Promise<Span | undefined>;
};

export type CheckBehindOptions<Span extends FileSpan> = Pick<ReadBackOptions, 'signal'> & {
  readonly onBytes?: (bytes: number, span: Span) => void;
};

/** @param spans adjacent, in file order @param holds checks one span */
export const checkBehindWriting = <Span extends FileSpan>(
  spans: readonly Span[],
  { signal, onBytes }: CheckBehindOptions<Span>,
  holds: (span: FileSpan, options: ReadBackOptions) => Promise<boolean> = holdsSpan,
): CheckBehind<Span> => {
  const over = new AbortController();
  const stop = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
  let next = 0;
  let wrong: Span | undefined;
  let failure: { readonly error: unknown } | undefined;
  let work = Promise.resolve();

  const check = async (span: Span): Promise<void> => {
    if (wrong || failure) return;
    const hook = onBytes && { onBytes: (bytes: number) => onBytes(bytes, span) };
    try {
      if (!(await holds(span, { signal: stop, ...hook }))) wrong = span;
    } catch (error) {
      failure = { error };
    }
  };

  return {
    reached: (offset) => {
      if (failure) throw failure.error;
      for (let span = spans[next]; span && span.offset + span.size <= offset; span = spans[next]) {
        const one = span;
        work = work.then(() => check(one));
        next += 1;
      }
    },
    end: async () => {
      await work;
      if (failure) throw failure.error;
      return wrong;
    },
    [Symbol.asyncDispose]: async () => {
      over.abort();
      await work;
    },
  };
};
