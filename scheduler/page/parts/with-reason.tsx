import { Alert, Button, Group, Modal, Text, Textarea } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Refusal } from '../api/ask.ts';

type Props = {
  readonly title: string;
  /** Title for the dialog and for screen readers. */
  readonly what: string;
  readonly children?: ReactNode;
  /** @param key the Idempotency-Key of this dialog */
  readonly decide: (reason: string, key: string) => Promise<void>;
};

/** A button whose dialog asks for a reason, and shows the refusal of the hub. */
export const WithReason = ({ title, what, children, decide }: Props) => {
  const [key, setKey] = useState<string>();
  const [fault, setFault] = useState<Refusal>();
  const [isSending, setSending] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const reason = new FormData(event.currentTarget).get('reason');
    setSending(true);
    setFault(undefined);
    try {
      await decide(typeof reason === 'string' ? reason.trim() : '', key ?? '');
      setKey(undefined);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setFault(error);
    } finally {
      setSending(false);
    }
  };
  return (
    <>
      <Button variant="default" size="xs" aria-label={what} onClick={() => setKey(crypto.randomUUID())}>
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
        <form onSubmit={(event) => void submit(event)}>
          {children}
          <Textarea
            name="reason"
            label="Reason"
            description="It is signed into the log."
            required
            withAsterisk={false}
          />
          {fault !== undefined && <Refused fault={fault} />}
          <Group mt="md">
            <Button type="submit" loading={isSending}>
              {title}
            </Button>
            <Button variant="default" onClick={() => setKey(undefined)}>
              Cancel
            </Button>
          </Group>
        </form>
      </Modal>
    </>
  );
};

/** A refusal of the hub, in place. */
export const Refused = ({ fault }: { readonly fault: Refusal }) => (
  <Alert role="alert" mt="sm" variant="outline" color="red" title={fault.code}>
    <Text>{fault.message}</Text>
    {fault.hint !== undefined && <Text>{fault.hint}.</Text>}
  </Alert>
);
