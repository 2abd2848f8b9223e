import { Button, Group, Text } from '@mantine/core';
import { useEffect, useMemo, useState } from 'react';
import { useRevalidator } from 'react-router';
import type {
  ValuesChange as ChangeBody,
  ValuesChanged,
  ValuesPreview,
  ValuesSelection,
} from '#bundles/schemas/types/hub-decisions';
import { valuesChange, valuesPreview } from '#bundles/transport/hub/client';
import { send } from '../api/ask.ts';
import {
  changesOf,
  type Draft,
  type Edit,
  editOf,
  keepDraft,
  readDraft,
  withEdits,
  withoutEdits,
} from '../api/drafts.ts';
import { useMe } from '../api/me.ts';
import { useSending } from '../api/sending.ts';
import { ChangeSteps } from '../parts/form/change-steps.tsx';
import { type ManyState, ManyField } from '../parts/form/many-field.tsx';
import { SchemaForm } from '../parts/form/schema-form.tsx';
import { findFaults } from '../parts/form/validator.ts';
import { schemaOf, toErrors, uiOf } from '../parts/form/value-schema.ts';

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
  const sending = useSending();
  const { clear, ask } = sending;
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
    setDraft({ ...draft, edits: withEdits(edits, edited) });
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
      change({ [name]: editOf(null, start) });
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
    change(Object.fromEntries(edited.map(({ name }) => [name, editOf(null, next[name])])));
  };
  const bodyWithout = (without: ReadonlySet<string>): ChangeBody => ({
    select,
    agents,
    sites: Object.fromEntries(
      sites.flatMap(({ site, version }) => (without.has(site) ? [] : [[site, version]])),
    ),
    ...changesOf(edits),
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
  const submit = (): Promise<void> =>
    ask(async () => {
      if (previewed === undefined) return;
      const { body, key: request } = previewed;
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
      <ChangeSteps
        draft={draft}
        sending={sending}
        done={done}
        preview={preview}
        isPreviewable={judged.length === 0 && leftOut.size !== sites.length}
        look={look}
        discard={() => change(withoutEdits(edits))}
        explain={(reason) => setDraft({ ...draft, reason })}
        submit={submit}
        above={
          leftOut.size > 0 && (
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
          )
        }
      >
        {refused.length > 0 && (
          <Button mt="md" variant="default" loading={sending.isSending} onClick={() => leaveOut(refused)}>
            Leave out {refused.length === 1 ? 'this site' : `these ${refused.length} sites`}
          </Button>
        )}
      </ChangeSteps>
    </>
  );
}
