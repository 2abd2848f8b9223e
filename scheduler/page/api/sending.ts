import { useState } from 'react';
import { useNavigate } from 'react-router';
import { Refusal, signInAddress } from './ask.ts';

/** Requests of a form: whether one is running, and the refusal of the last one. */
export type Sending = {
  readonly isSending: boolean;
  readonly fault: Refusal | undefined;
  readonly clear: () => void;
  /** Runs a request, and leads to the sign-in and back when the session has ended meanwhile. */
  readonly ask: (work: () => Promise<void>) => Promise<void>;
};

export const useSending = (): Sending => {
  const navigate = useNavigate();
  const [isSending, setSending] = useState(false);
  const [fault, setFault] = useState<Refusal>();
  const clear = (): void => setFault(undefined);
  const ask = async (work: () => Promise<void>): Promise<void> => {
    setSending(true);
    clear();
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.status === 401) await navigate(signInAddress(true));
      else setFault(error);
    } finally {
      setSending(false);
    }
  };
  return { isSending, fault, clear, ask };
};
