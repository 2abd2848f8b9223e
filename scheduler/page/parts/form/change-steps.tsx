import { Button, Group, Textarea, Title } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import type { ValuesChanged, ValuesPreview } from '#bundles/schemas/types/hub-decisions';
import type { Draft } from '../../api/drafts.ts';
import type { Sending } from '../../api/sending.ts';
import { Refused } from '../with-reason.tsx';
import { Done, Previewed } from './value-preview.tsx';

type Props = {
  readonly draft: Draft;
  readonly sending: Sending;
  readonly done: ValuesChanged | undefined;
  readonly preview: ValuesPreview | undefined;
  readonly isPreviewable: boolean;
  readonly look: () => Promise<void>;
  readonly discard: () => void;
  readonly explain: (reason: string) => void;
  readonly submit: () => Promise<void>;
  /** Above the buttons. */
  readonly above?: ReactNode;
  /** In the preview, above the field of the reason. */
  readonly children?: ReactNode;
};

/** The steps of a change of values, below its fields: preview, reason, and the outcome. */
export const ChangeSteps = ({ draft: { edits, reason }, sending, done, preview, ...steps }: Props) => {
  const { isSending, fault } = sending;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void steps.submit();
  };
  return (
    <>
      {done !== undefined && <Done changed={done} />}
      {steps.above}
      {Object.keys(edits).length > 0 && (
        <Group mt="md">
          <Button loading={isSending} disabled={!steps.isPreviewable} onClick={() => void steps.look()}>
            Preview
          </Button>
          <Button variant="default" onClick={steps.discard}>
            Discard my changes
          </Button>
        </Group>
      )}
      {fault !== undefined && <Refused fault={fault} />}
      {preview !== undefined && (
        <section aria-label="Preview">
          <Title order={2}>Preview</Title>
          <Previewed preview={preview} />
          {steps.children}
          {preview.faults.length === 0 && preview.sites.length > 0 && (
            <form onSubmit={submit}>
              <Textarea
                label="Reason"
                description="It is signed into the log."
                required
                withAsterisk={false}
                value={reason}
                onChange={({ currentTarget: { value } }) => steps.explain(value)}
              />
              <Button type="submit" mt="md" loading={isSending}>
                {preview.review.length > 0 ? 'Submit for review' : 'Make the change'}
              </Button>
            </form>
          )}
        </section>
      )}
    </>
  );
};
