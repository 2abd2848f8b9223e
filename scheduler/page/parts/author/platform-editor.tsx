import { Alert, Anchor, Button, Group, SegmentedControl, Text, Textarea } from '@mantine/core';
import type { RJSFSchema } from '@rjsf/utils';
import { type FormEvent, lazy, Suspense, useMemo, useState } from 'react';
import { useRevalidator } from 'react-router';
import type {
  Platform,
  PlatformEdit,
  PlatformObject,
  PlatformPreview,
  PlatformSaved,
} from '#bundles/schemas/types/hub-decisions';
import { previewEdit, saveEdit } from '#bundles/transport/hub/client';
import { Refusal } from '../../api/ask.ts';
import { sendAsAuthor } from '../../api/author.ts';
import {
  type EditedObject,
  keepPlatformDraft,
  type PlatformDraft,
  readPlatformDraft,
} from '../../api/platform-draft.ts';
import { SchemaForm } from '../form/schema-form.tsx';
import { At } from '../age.tsx';
import { Refused } from '../with-reason.tsx';
import { type AuthorKind, schemasOf } from './author-kinds.ts';
import { EditPreview } from './edit-preview.tsx';
import { formOf, objectOf, YamlFault } from './form-of.ts';

/** CodeMirror is loaded when somebody edits text. */
const YamlEditor = lazy(() => import('./yaml-editor.tsx'));

type Props = {
  readonly platform: Platform;
  readonly layer: string;
  readonly about: AuthorKind | undefined;
  readonly schema: RJSFSchema | undefined;
  /** undefined: it is new. */
  readonly object: PlatformObject | undefined;
  readonly edited: EditedObject;
};

/** The editor of one object: a form from its schema, or the text of its file; preview; and saving as a commit or pull request. */
export default function PlatformEditor({ platform, layer, about, schema, object, edited }: Props) {
  const { revalidate } = useRevalidator();
  const form = useMemo(
    () => (schema === undefined ? undefined : formOf(schema, object === undefined)),
    [schema, object],
  );
  const unedited = useMemo(
    () => ({
      seen: object?.seen ?? null,
      data: form?.toForm(object?.value ?? {}) ?? {},
      text: object?.text ?? '',
      reason: '',
    }),
    [form, object],
  );
  const [typed, setTyped] = useState(() => readPlatformDraft(edited));
  const [dropped, setDropped] = useState(0);
  const [asText, setAsText] = useState(typed?.asText ?? form === undefined);
  const [preview, setPreview] = useState<PlatformPreview>();
  const [saved, setSaved] = useState<PlatformSaved>();
  const [fault, setFault] = useState<Parameters<typeof Refused>[0]['fault']>();
  const [isSending, setSending] = useState(false);
  const [way, setWay] = useState<'pull request' | 'commit'>('pull request');

  const schemas = useMemo(() => schemasOf(platform.form), [platform.form]);
  const { seen, data, text, reason } = typed ?? unedited;

  const edit = (): PlatformEdit => {
    if (asText || !form || !about) return { layer, file: object?.file ?? '', text, seen };
    return { layer, object: objectOf(about, form, data, { ...object?.value }), seen };
  };
  const changed = (): void => {
    setPreview(undefined);
    setSaved(undefined);
    setFault(undefined);
  };
  const keep = (draft: PlatformDraft | undefined): void => {
    setTyped(draft);
    keepPlatformDraft(edited, draft);
  };
  /** The editor of text reads its text only when it is mounted. */
  const drop = (): void => {
    keep(undefined);
    setDropped((before) => before + 1);
  };
  const type = (part: Partial<PlatformDraft>): void => keep({ seen, data, text, reason, asText, ...part });
  const run = async (work: () => Promise<void>): Promise<void> => {
    setSending(true);
    setFault(undefined);
    try {
      await work();
    } catch (error) {
      if (error instanceof YamlFault)
        setFault({ code: 'YAML_SYNTAX', message: error.message, hint: undefined });
      else if (!(error instanceof Refusal)) throw error;
      // Leads to the sign-in and back, or asks for another token of a person.
      else if (error.status === 401) await revalidate();
      else setFault(error);
    } finally {
      setSending(false);
    }
  };
  const look = (): Promise<void> =>
    run(async () => {
      const platformEdit = edit();
      setPreview(await sendAsAuthor((options) => previewEdit({ platformEdit }, options)));
    });
  const save = (event: FormEvent): Promise<void> => {
    event.preventDefault();
    return run(async () => {
      const platformSave = { ...edit(), reason, pullRequest: way === 'pull request' };
      setSaved(await sendAsAuthor((options) => saveEdit({ platformSave }, options)));
      setPreview(undefined);
      await revalidate();
      drop();
    });
  };

  return (
    <>
      {object !== undefined && <Proposals of={object.proposals} />}
      {form !== undefined && object !== undefined && (
        <SegmentedControl
          my="md"
          aria-label="How to edit"
          transitionDuration={0}
          value={asText ? 'Text' : 'Form'}
          data={['Form', 'Text']}
          onChange={(value) => {
            setAsText(value === 'Text');
            changed();
          }}
        />
      )}
      <ChangedMeanwhile isChanged={seen !== unedited.seen} />
      {asText || form === undefined ? (
        <Suspense fallback={<Text>The editor is loading.</Text>}>
          <YamlEditor
            key={`${seen} ${dropped}`}
            label={object?.file ?? 'YAML'}
            initial={text}
            schemas={schemas}
            onChange={(next) => {
              type({ text: next });
              changed();
            }}
          />
        </Suspense>
      ) : (
        <SchemaForm
          schema={form.schema}
          uiSchema={form.uiSchema}
          formData={data}
          idPrefix="object"
          onChange={({ formData }) => {
            type({ data: formData });
            changed();
          }}
        />
      )}
      <Group mt="md">
        <Button loading={isSending} onClick={() => void look()}>
          Preview
        </Button>
        {typed !== undefined && (
          <Button
            variant="default"
            onClick={() => {
              drop();
              changed();
            }}
          >
            Discard
          </Button>
        )}
      </Group>
      {fault !== undefined && <Refused fault={fault} />}
      {saved !== undefined && <Saved saved={saved} />}
      {preview !== undefined && <EditPreview preview={preview} />}
      {preview !== undefined && preview.problems.length === 0 && preview.outcome !== 'unchanged' && (
        <form onSubmit={(event) => void save(event)}>
          {platform.canSave ? (
            <>
              <Textarea
                label="Reason"
                description="For the text of the commit."
                required
                withAsterisk={false}
                maxLength={1000}
                value={reason}
                onChange={({ currentTarget: { value } }) => type({ reason: value })}
              />
              <SegmentedControl
                my="md"
                aria-label="How to save"
                transitionDuration={0}
                value={way}
                data={['pull request', 'commit']}
                onChange={(value) => setWay(value === 'commit' ? 'commit' : 'pull request')}
              />
              <Group>
                <Button type="submit" loading={isSending}>
                  Save as {way}
                </Button>
              </Group>
            </>
          ) : (
            <Text>{platform.advice}.</Text>
          )}
        </form>
      )}
    </>
  );
}

const ChangedMeanwhile = ({ isChanged }: { readonly isChanged: boolean }) =>
  isChanged && (
    <Alert role="status" my="md" variant="default" title="Somebody changed this file since you began">
      What you typed is kept. Discard it to see the file as it is now.
    </Alert>
  );

/** Open proposals of the same file: who merges second has the conflict. */
const Proposals = ({ of }: { readonly of: PlatformObject['proposals'] }) => {
  if (of === null)
    return <Text size="sm">Whether somebody has proposed an edit of this file is not known now.</Text>;
  return of.map(({ person, at, title, branch, pullRequest }) => (
    <Alert
      key={branch}
      role="status"
      mt="md"
      variant="outline"
      title="An edit of this file waits to be merged"
    >
      <Text>
        {person}, <At at={at} />: {title}.{' '}
        {pullRequest === null ? (
          `Branch ${branch}.`
        ) : (
          <Anchor href={pullRequest} rel="noreferrer" target="_blank" underline="always">
            {pullRequest}
          </Anchor>
        )}
      </Text>
      <Text>An edit that you save now begins without it: build on it, or agree who merges first.</Text>
    </Alert>
  ));
};

const Saved = ({
  saved: { outcome, place, commit, proposal, pullRequest },
}: {
  readonly saved: PlatformSaved;
}) => (
  <Alert
    role="status"
    mt="md"
    variant="default"
    title={outcome === 'unchanged' ? 'Nothing differed' : 'Saved'}
  >
    {pullRequest !== null && (
      <Text>
        Pull request:{' '}
        <Anchor href={pullRequest} rel="noreferrer" target="_blank">
          {pullRequest}
        </Anchor>
      </Text>
    )}
    {pullRequest === null && proposal !== null && (
      <Text>
        Branch {proposal} of {place}: open a pull request from it.
      </Text>
    )}
    {commit !== null && (
      <Text>
        Commit {commit.slice(0, 12)} on {place}
      </Text>
    )}
  </Alert>
);
