import { type FileSpan, holdsSpan, type ReadBackOptions } from '../../plan/medium/read-back.ts';

/** Checks a file while it grows. Disposed of, it looks at nothing any more. */
export type CheckBehind<Span extends FileSpan> = AsyncDisposable & {
  /** The file is on the device up to here; what lies before it is looked at meanwhile. @throws what the checks so far threw */
  readonly reached: (offset: number) => void;
  /** When all that was reached is looked at: the first span, in the file's order, that is not right. */
  readonly end: () => Promise<Span | undefined>;
};

export type CheckBehindOptions<Span extends FileSpan> = Pick<ReadBackOptions, 'signal'> & {
  readonly onBytes?: (bytes: number, span: Span) => void;
};

/** @param spans in the order in which they lie in the file, one behind the other @param holds how one is looked at */
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
    const told = onBytes && { onBytes: (bytes: number) => onBytes(bytes, span) };
    try {
      if (!(await holds(span, { signal: stop, ...told }))) wrong = span;
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
