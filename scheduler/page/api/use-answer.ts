import { useEffect, useState } from 'react';
import { refusedOr, type Refusal } from './ask.ts';

type Question<T> = {
  /** Identifies the question; null: the hub is not asked yet. */
  readonly id: string | null;
  /** Reads it again when this changes; the answer before is shown meanwhile. */
  readonly as?: string;
  readonly read: (signal: AbortSignal) => Promise<T>;
};

/** An answer that a part of a view reads when it is drawn; undefined until it is there. */
export const useAnswer = <T>({ id, as = '', read }: Question<T>): T | Refusal | undefined => {
  const [found, setFound] = useState<{ readonly id: string; readonly answer: T | Refusal }>();
  useEffect(() => {
    if (id === null) return undefined;
    const gone = new AbortController();
    refusedOr(read(gone.signal)).then(
      (answer) => setFound({ id, answer }),
      (error: unknown) => {
        if (!gone.signal.aborted) throw error;
      },
    );
    return () => gone.abort();
    // `read` is made anew with each drawing; `id` and `as` say whether it would read something else.
  }, [id, as]);
  return found !== undefined && found.id === id ? found.answer : undefined;
};
