import { Alert, Button, Group, Modal, PasswordInput, Text, Textarea } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useRevalidator } from 'react-router';
import type { LinkState } from '../api/answers.ts';
import { Refusal, send } from '../api/ask.ts';
import { dropDecider, keepDecider, readDecider } from '../api/session.ts';

export type Verb = 'promote' | 'reject' | 'pause' | 'resume';

const WORDS: Readonly<Record<Verb, { readonly title: string; readonly path: string }>> = {
  promote: { title: 'Promote', path: 'promotions' },
  reject: { title: 'Reject', path: 'rejections' },
  pause: { title: 'Pause', path: 'pause' },
  resume: { title: 'Resume', path: 'resume' },
};

type Props = {
  readonly verb: Verb;
  readonly link: LinkState;
  readonly candidate: string | undefined;
};

/** A button that asks for a reason, and for the token of a person who may decide. */
export const Decide = ({ verb, link, candidate }: Props) => {
  const { title } = WORDS[verb];
  const what = `${title} ${link.from} to ${link.to}`;
  /** The Idempotency-Key of this opening: sent again after a lost answer, it decides once. */
  const [key, setKey] = useState<string>();
  return (
    <>
      <Button
        variant={verb === 'promote' ? 'filled' : 'default'}
        aria-label={what}
        onClick={() => setKey(crypto.randomUUID())}
      >
        {title}
      </Button>
      <Modal
        opened={key !== undefined}
        onClose={() => setKey(undefined)}
        title={what}
        // Locking writes a style element, which the policy of the page forbids.
        lockScroll={false}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {key !== undefined && (
          <DecisionForm
            verb={verb}
            environment={link.to}
            candidate={candidate}
            idempotencyKey={key}
            onDone={() => setKey(undefined)}
          />
        )}
      </Modal>
    </>
  );
};

type FormProps = {
  readonly verb: Verb;
  readonly environment: string;
  readonly candidate: string | undefined;
  readonly idempotencyKey: string;
  readonly onDone: () => void;
};

const DecisionForm = ({ verb, environment, candidate, idempotencyKey, onDone }: FormProps) => {
  const { revalidate } = useRevalidator();
  const [fault, setFault] = useState<Refusal>();
  const [isSending, setSending] = useState(false);
  const [kept, setKept] = useState(readDecider);

  const decide = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const token = kept ?? textOf(fields, 'token');
    const isAboutCandidate = verb === 'promote' || verb === 'reject';
    setSending(true);
    setFault(undefined);
    try {
      await send(`/v1/environments/${encodeURIComponent(environment)}/${WORDS[verb].path}`, {
        token,
        key: idempotencyKey,
        // The candidate that the person saw: a newer one would be another decision.
        body: {
          reason: textOf(fields, 'reason'),
          ...(isAboutCandidate && candidate !== undefined && { candidate }),
        },
      });
      keepDecider(token);
      await revalidate();
      onDone();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setFault(error);
      if (error.status !== 401 && error.status !== 403) return;
      dropDecider();
      setKept(null);
    } finally {
      setSending(false);
    }
  };

  return (
    <form onSubmit={(event) => void decide(event)}>
      <Textarea
        name="reason"
        label="Reason"
        description="It is signed into the log."
        required
        withAsterisk={false}
      />
      {kept === null && (
        <PasswordInput
          name="token"
          mt="sm"
          label="Token of a person"
          description={`One that allows ${verb}:${environment}; it stays in this tab.`}
          autoComplete="off"
          required
          withAsterisk={false}
          visibilityToggleButtonProps={{ 'aria-label': 'Show the token' }}
        />
      )}
      {fault !== undefined && (
        <Alert role="alert" mt="sm" variant="outline" color="red" title={fault.code}>
          <Text>{fault.message}</Text>
          {fault.hint !== undefined && <Text>{fault.hint}.</Text>}
        </Alert>
      )}
      <Group mt="md">
        <Button type="submit" loading={isSending}>
          {WORDS[verb].title}
        </Button>
        <Button variant="default" onClick={onDone}>
          Cancel
        </Button>
      </Group>
    </form>
  );
};

const textOf = (fields: FormData, name: string): string => {
  const value = fields.get(name);
  return typeof value === 'string' ? value.trim() : '';
};
