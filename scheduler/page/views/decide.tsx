import { Alert, Button, Group, Modal, NativeSelect, PasswordInput, Text, Textarea } from '@mantine/core';
import type { ApiResponse } from '@oazapfts/runtime';
import { type FormEvent, useState } from 'react';
import { useRevalidator } from 'react-router';
import { type Call, Refusal, send } from '../api/ask.ts';
import { mayDo, mayInWorkspace, useMe } from '../api/me.ts';
import { dropDecider, keepDecider, readDecider } from '../api/session.ts';

/** A decision: one POST to the hub. */
export type Decision = {
  readonly title: string;
  /** Title for the dialog and for screen readers: 'Promote qa to prod'. */
  readonly what: string;
  readonly decide: (
    reason: string,
    options: Parameters<Call<ApiResponse>>[0],
    choice: string,
  ) => ReturnType<Call<ApiResponse>>;
  /** Allowance that a token must have, such as 'promote:prod'. */
  readonly allowance: string;
  /** An allowance for a workspace may be enough. */
  readonly byWorkspace?: boolean;
  /** Why the allowances for workspaces are not enough here. */
  readonly whyNot?: string | undefined;
  /** What the person chooses from. */
  readonly choices?: {
    readonly label: string;
    readonly options: readonly { readonly value: string; readonly label: string }[];
  };
  readonly isMain?: boolean;
};

/** A button that asks for a reason, and, where the tab has only a reader's token, for the token of a person who may decide. */
export const Decide = ({ decision }: { readonly decision: Decision }) => {
  const { title, what, isMain } = decision;
  /** The Idempotency-Key of this dialog: a request that is repeated after a lost answer takes effect once. */
  const [key, setKey] = useState<string>();
  const me = useMe();
  const isAllowed =
    me === undefined ||
    me.kind === 'token' ||
    mayDo(me, decision.allowance) ||
    (decision.byWorkspace === true && mayInWorkspace(me, decision.allowance));
  if (!isAllowed) {
    const why = decision.whyNot ?? `your roles do not allow ${decision.allowance}`;
    return (
      <Button variant="default" disabled aria-label={`${what}: ${why}`} title={why}>
        {title}
      </Button>
    );
  }
  return (
    <>
      <Button
        variant={isMain === true ? 'filled' : 'default'}
        aria-label={what}
        onClick={() => setKey(crypto.randomUUID())}
      >
        {title}
      </Button>
      <Modal
        opened={key !== undefined}
        onClose={() => setKey(undefined)}
        title={what}
        // Scroll locking writes a style element, which the content security policy forbids.
        lockScroll={false}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {key !== undefined && (
          <DecisionForm decision={decision} idempotencyKey={key} onDone={() => setKey(undefined)} />
        )}
      </Modal>
    </>
  );
};

type FormProps = {
  readonly decision: Decision;
  readonly idempotencyKey: string;
  readonly onDone: () => void;
};

const DecisionForm = ({ decision, idempotencyKey, onDone }: FormProps) => {
  const { title, allowance, choices } = decision;
  const { revalidate } = useRevalidator();
  const [fault, setFault] = useState<Refusal>();
  const [isSending, setSending] = useState(false);
  const [kept, setKept] = useState(readDecider);
  const isPerson = useMe()?.kind !== 'token';

  const decide = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const token = isPerson ? null : (kept ?? textOf(fields, 'token'));
    setSending(true);
    setFault(undefined);
    try {
      const reason = textOf(fields, 'reason');
      const choice = textOf(fields, 'choice');
      await send((options) => decision.decide(reason, options, choice), { token, key: idempotencyKey });
      if (token !== null) keepDecider(token);
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
      {choices !== undefined && (
        <NativeSelect name="choice" mb="sm" label={choices.label} data={[...choices.options]} />
      )}
      <Textarea
        name="reason"
        label="Reason"
        description="It is signed into the log."
        required
        withAsterisk={false}
      />
      {!isPerson && kept === null && (
        <PasswordInput
          name="token"
          mt="sm"
          label="Token of a person"
          description={`One that allows ${allowance}; it stays in this tab.`}
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
          {title}
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
