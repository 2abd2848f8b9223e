import { Alert, Anchor, Button, Group, Modal, Text, Textarea } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Link, useRevalidator } from 'react-router';
import { Refusal, signInAddress } from '../api/ask.ts';
import { type Decided, keepReason, readReason } from '../api/reason-draft.ts';

type Props = {
  readonly title: string;
  /** Title for the dialog and for screen readers. */
  readonly what: string;
  /** What is decided about, as in `FormProps`. */
  readonly object: string;
  /** Above the field of the reason. */
  readonly children?: ReactNode;
  /** Sends the decision. @param key the Idempotency-Key of this dialog */
  readonly decide: (reason: string, key: string) => Promise<void>;
};

/** A small button whose dialog asks for a reason. */
export const WithReason = ({ title, what, object, children, decide }: Props) => (
  <ReasonDialog title={title} what={what} size="xs">
    {(key, close) => (
      <ReasonForm
        title={title}
        decided={{ what, object }}
        decide={(reason) => decide(reason, key)}
        close={close}
        above={children}
      />
    )}
  </ReasonDialog>
);

type DialogProps = {
  readonly title: string;
  readonly what: string;
  readonly isMain?: boolean | undefined;
  /** Room for a list beside the reason. */
  readonly isWide?: boolean;
  readonly size?: 'xs' | 'sm';
  /** @param key the Idempotency-Key of this dialog: a request that is repeated after a lost answer takes effect once */
  readonly children: (key: string, close: () => void) => ReactNode;
};

/** A button that opens a dialog. */
export const ReasonDialog = ({
  title,
  what,
  isMain = false,
  isWide = false,
  size = 'sm',
  children,
}: DialogProps) => {
  const [key, setKey] = useState<string>();
  const close = (): void => setKey(undefined);
  return (
    <>
      <Button
        variant={isMain ? 'filled' : 'default'}
        size={size}
        aria-label={what}
        onClick={() => setKey(crypto.randomUUID())}
      >
        {title}
      </Button>
      <Modal
        opened={key !== undefined}
        onClose={close}
        title={what}
        size={isWide ? 'xl' : 'md'}
        // Scroll locking writes a style element, which the content security policy forbids.
        lockScroll={false}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {key !== undefined && children(key, close)}
      </Modal>
    </>
  );
};

type FormProps = {
  readonly title: string;
  /** A reason that was typed for it and not sent is there again. */
  readonly decided: Decided;
  /** Sends the decision. Rejects with Refusal, which the form shows. */
  readonly decide: (reason: string, fields: FormData) => Promise<void>;
  readonly close: () => void;
  /** Above the field of the reason. */
  readonly above?: ReactNode;
  /** Below the field of the reason. */
  readonly below?: ReactNode;
};

/** The form of a dialog that asks for a reason. After the decision the view is read again, and the dialog closes. */
export const ReasonForm = ({ title, decided, decide, close, above, below }: FormProps) => {
  const { revalidate } = useRevalidator();
  const [fault, setFault] = useState<Refusal>();
  const [isSending, setSending] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    setSending(true);
    setFault(undefined);
    try {
      await decide(textOf(fields, 'reason'), fields);
      keepReason(decided, '');
      await revalidate();
      close();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setFault(error);
    } finally {
      setSending(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      {above}
      <Textarea
        // A view that is read again may have another object.
        key={decided.object}
        name="reason"
        label="Reason"
        description="It is signed into the log."
        required
        withAsterisk={false}
        defaultValue={readReason(decided)}
        onChange={({ currentTarget }) => keepReason(decided, currentTarget.value)}
      />
      {below}
      {fault !== undefined && <Refused fault={fault} />}
      <Group mt="md">
        <Button type="submit" loading={isSending}>
          {title}
        </Button>
        <Button variant="default" onClick={close}>
          Cancel
        </Button>
      </Group>
    </form>
  );
};

/** The text of a field, without spaces around it. */
export const textOf = (fields: FormData, name: string): string => {
  const value = fields.get(name);
  return typeof value === 'string' ? value.trim() : '';
};

/** A refusal of the hub, in place. */
export const Refused = ({ fault }: { readonly fault: Pick<Refusal, 'code' | 'message' | 'hint'> }) => (
  <Alert role="alert" mt="sm" variant="outline" color="red" title={fault.code}>
    <Text>{fault.message}</Text>
    {fault.hint !== undefined && <Text>{fault.hint}.</Text>}
    {fault.code === 'SESSION_INVALID' && (
      <Text>
        <Anchor component={Link} to={signInAddress(true)}>
          Sign in again
        </Anchor>
        : what you typed is kept in this tab.
      </Text>
    )}
  </Alert>
);
