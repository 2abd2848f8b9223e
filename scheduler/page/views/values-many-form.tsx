import { Button, Group, Text, Textarea, Title } from '@mantine/core';
import { type FormEvent, useEffect, useMemo, useState } from 'react';
import { useRevalidator } from 'react-router';
import {
  valuesChange,
  type ValuesChange as ChangeBody,
  type ValuesChanged,
  valuesPreview,
  type ValuesPreview,
  type ValuesSelection,
} from '#bundles/transport/hub/client';
import { send } from '../api/ask.ts';
import { type Draft, type Edit, keepDraft, readDraft } from '../api/drafts.ts';
import { useMe } from '../api/me.ts';
import { useSending } from '../api/sending.ts';
import { type ManyState, ManyField } from '../parts/form/many-field.tsx';
import { SchemaForm } from '../parts/form/schema-form.tsx';
import { findFaults } from '../parts/form/validator.ts';
import { Done, Previewed } from '../parts/form/value-preview.tsx';
import { schemaOf, toErrors, uiOf } from '../parts/form/value-schema.ts';
import { Refused } from '../parts/with-reason.tsx';

const TEMPLATES = { FieldTemplate: ManyField };
const EMPTY: Draft = { version: 0, edits: {}, reason: '' };

type Data = Readonly<Record<string, unknown>>;

/** A preview with the change that it was about: the selection may be another one by the time of the decision. */
type PreviewedChange = {
  readonly body: ChangeBody;
  readonly preview: ValuesPreview;
  /** The Idempotency-Key of the change: a request that is repeated after a lost answer takes effect once. */
  readonly key: string;
};

/** Sets or removes values at all selected sites, or those that are left. What is typed outlives the session. */
export default function ManyForm({ selection }: { readonly selection: ValuesSelection }) {
  const me = useMe();
  const { revalidate } = useRevalidator();
  const { select, agents, sites, values } = selection;
  const key = useMemo(
    () => [me?.person ?? null, JSON.stringify(select), agents ? 'agents' : 'sites'],
    [me?.person, select, agents],
  );
  const [draft, setDraft] = useState<Draft>(() => readDraft(key) ?? EMPTY);
  const [leftOut, setLeftOut] = useState<ReadonlySet<string>>(new Set());
  const [previewed, setPreviewed] = useState<PreviewedChange>();
  const [done, setDone] = useState<ValuesChanged>();
  const { isSending, fault, clear, ask } = useSending();
  const { edits } = draft;
  const secrets = useMemo(
    () => new Set(values.filter(({ hidden }) => hidden).map(({ name }) => name)),
    [values],
  );
  useEffect(() => keepDraft(key, draft, secrets), [key, draft, secrets]);

  const byName = useMemo(() => new Map(values.map((one) => [one.name, one])), [values]);
  const schema = useMemo(() => schemaOf(values), [values]);
  const uiSchema = useMemo(() => uiOf(values), [values]);
  const data = useMemo(
    (): Data =>
      Object.fromEntries(
        Object.entries(edits).flatMap(([name, { value }]) => (value === undefined ? [] : [[name, value]])),
      ),
    [edits],
  );
  const judged = useMemo(() => {
    const set = values.filter(({ name }) => edits[name] !== undefined && edits[name]?.removed !== true);
    return findFaults({ ...schemaOf(set), required: set.map(({ name }) => name) }, data);
  }, [values, edits, data]);
  const errors = useMemo(() => toErrors(judged), [judged]);

  const change = (edited: Readonly<Record<string, Edit | undefined>>): void => {
    const next = Object.entries({ ...edits, ...edited }).flatMap(([name, one]) =>
      one ? [[name, one] as const] : [],
    );
    setDraft({ ...draft, edits: Object.fromEntries(next) });
    setPreviewed(undefined);
    setDone(undefined);
    clear();
  };
  const state: ManyState = {
    values: byName,
    edits,
    what: agents ? 'agents' : 'sites',
    set: (name) => {
      const [common] = byName.get(name)?.given ?? [];
      const start = secrets.has(name) ? undefined : common?.value;
      change({ [name]: start === undefined ? { was: null } : { was: null, value: start } });
    },
    remove: (name) => change({ [name]: { was: null, removed: true } }),
    drop: (name) => change({ [name]: undefined }),
  };
  const take = (next: Data = {}): void => {
    const edited = values.filter(
      ({ name }) =>
        edits[name] !== undefined &&
        edits[name]?.removed !== true &&
        JSON.stringify(next[name]) !== JSON.stringify(data[name]),
    );
    if (edited.length === 0) return;
    change(
      Object.fromEntries(
        edited.map(({ name }): [string, Edit] => {
          const value = next[name];
          return [name, value === undefined ? { was: null } : { was: null, value }];
        }),
      ),
    );
  };
  const bodyWithout = (without: ReadonlySet<string>): ChangeBody => ({
    select,
    agents,
    sites: Object.fromEntries(
      sites.flatMap(({ site, version }) => (without.has(site) ? [] : [[site, version]])),
    ),
    set: Object.fromEntries(
      Object.entries(edits).flatMap(([name, one]) => (one.removed === true ? [] : [[name, one.value]])),
    ),
    unset: Object.entries(edits).flatMap(([name, one]) => (one.removed === true ? [name] : [])),
  });
  const look = (without = leftOut): Promise<void> =>
    ask(async () => {
      const body = bodyWithout(without);
      setPreviewed({
        body,
        key: crypto.randomUUID(),
        preview: await send((options) => valuesPreview({ valuesChange: body }, options)),
      });
    });
  const leaveOut = (names: readonly string[]): void => {
    const next = new Set([...leftOut, ...names]);
    setLeftOut(next);
    if (next.size < sites.length) void look(next);
    else setPreviewed(undefined);
  };
  const submit = (event: FormEvent, { body, key: request }: PreviewedChange): Promise<void> => {
    event.preventDefault();
    return ask(async () => {
      const valuesBody = { ...body, reason: draft.reason.trim() };
      const answer = await send((options) => valuesChange({ valuesChange: valuesBody }, options), {
        key: request,
      });
      setDone(answer);
      setDraft(EMPTY);
      setPreviewed(undefined);
      setLeftOut(new Set());
      await revalidate();
    });
  };
  const preview = previewed?.preview;
  const refused = [...new Set(preview?.faults.map(({ site }) => site))];

  return (
    <>
      <SchemaForm
        schema={schema}
        uiSchema={uiSchema}
        formData={data}
        formContext={state}
        templates={TEMPLATES}
        idPrefix="value"
        extraErrors={errors}
        onChange={({ formData }) => take(formData as Data)}
      />
      {done !== undefined && <Done changed={done} />}
      {leftOut.size > 0 && (
        <Group mt="md">
          <Text>Left out: {[...leftOut].join(', ')}</Text>
          <Button
            size="xs"
            variant="default"
            onClick={() => {
              setLeftOut(new Set());
              setPreviewed(undefined);
            }}
          >
            Take all sites again
          </Button>
        </Group>
      )}
      {Object.keys(edits).length > 0 && (
        <Group mt="md">
          <Button
            loading={isSending}
            disabled={judged.length > 0 || leftOut.size === sites.length}
            onClick={() => void look()}
          >
            Preview
          </Button>
          <Button
            variant="default"
            onClick={() => change(Object.fromEntries(Object.keys(edits).map((name) => [name, undefined])))}
          >
            Discard my changes
          </Button>
        </Group>
      )}
      {fault !== undefined && <Refused fault={fault} />}
      {previewed !== undefined && preview !== undefined && (
        <section aria-label="Preview">
          <Title order={2}>Preview</Title>
          <Previewed preview={preview} />
          {refused.length > 0 && (
            <Button mt="md" variant="default" loading={isSending} onClick={() => leaveOut(refused)}>
              Leave out {refused.length === 1 ? 'this site' : `these ${refused.length} sites`}
            </Button>
          )}
          {preview.faults.length === 0 && preview.sites.length > 0 && (
            <form onSubmit={(event) => void submit(event, previewed)}>
              <Textarea
                label="Reason"
                description="It is signed into the log."
                required
                withAsterisk={false}
                value={draft.reason}
                onChange={({ currentTarget: { value } }) => setDraft({ ...draft, reason: value })}
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
}
