import { useEffect, useMemo, useState } from 'react';
import { useRevalidator } from 'react-router';
import { defined } from '#bundles/defined';
import type {
  ValuesChange as ChangeBody,
  ValuesChanged,
  ValuesOfSite,
  ValuesOpen,
  ValuesPreview,
} from '#bundles/schemas/types/hub-decisions';
import { valuesOpen, valuesChange, valuesPreview } from '#bundles/transport/hub/client';
import { ask as askHub, Refusal, send } from '../api/ask.ts';
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
import { useAnswer } from '../api/use-answer.ts';
import { ChangeSteps } from '../parts/form/change-steps.tsx';
import { SchemaForm } from '../parts/form/schema-form.tsx';
import { findFaults } from '../parts/form/validator.ts';
import { schemaOf, toErrors, uiOf } from '../parts/form/value-schema.ts';
import { type FormState, type FormValue, isOverridden, ValueField } from '../parts/form/value-field.tsx';

const TEMPLATES = { FieldTemplate: ValueField };

type Props = {
  readonly site: ValuesOfSite;
  readonly place: ValuesOfSite['places'][number];
};

type Data = Readonly<Record<string, unknown>>;

/** The form of a place: the site, or one of its agents. What is typed outlives the session. */
export default function ValuesForm({ site, place }: Props) {
  const me = useMe();
  const { revalidate } = useRevalidator();
  const key = useMemo(
    () => [me?.person ?? null, site.site, place.agent],
    [me?.person, site.site, place.agent],
  );
  const [draft, setDraft] = useState<Draft>(() => readDraft(key) ?? empty(site.version));
  const [preview, setPreview] = useState<ValuesPreview>();
  const [done, setDone] = useState<ValuesChanged>();
  const sending = useSending();
  const { clear, ask } = sending;
  /** The Idempotency-Key of this change: a request that is repeated after a lost answer takes effect once. */
  const [request, setRequest] = useState(() => crypto.randomUUID());
  const { edits } = draft;
  const hasEdits = Object.keys(edits).length > 0;
  const secrets = useMemo(
    () => new Set(place.values.filter(({ hidden }) => hidden).map(({ name }) => name)),
    [place],
  );
  useEffect(() => keepDraft(key, draft, secrets), [key, draft, secrets]);

  const open = useAnswer({
    id: site.site,
    as: `${site.version} ${done?.repository?.proposal ?? ''}`,
    read: (signal) => askHub((options) => valuesOpen({ site: site.site }, options), signal),
  });
  const values = useMemo(() => new Map(place.values.map((one) => [one.name, one])), [place]);
  const data = useMemo(() => dataOf(place.values, edits), [place, edits]);
  const schema = useMemo(() => schemaOf(place.values), [place]);
  const uiSchema = useMemo(() => uiOf(place.values), [place]);
  const judged = useMemo(() => {
    const own = place.values.filter((one) => isOverridden(one, edits[one.name]) && edits[one.name]);
    return findFaults({ ...schemaOf(own), required: own.map(({ name }) => name) }, pick(data, own));
  }, [place, edits, data]);
  const errors = useMemo(
    () =>
      toErrors([
        ...judged,
        ...(preview?.faults ?? []).map(({ name, message, hint }) => ({
          path: name === null ? [] : [name],
          message: hint === undefined ? message : `${message}. ${hint}`,
        })),
      ]),
    [judged, preview],
  );

  const change = (edited: Readonly<Record<string, Edit | undefined>>): void => {
    setDraft({
      ...draft,
      // Without an edit the form follows the newest version.
      version: hasEdits ? draft.version : site.version,
      edits: withEdits(edits, edited),
    });
    setPreview(undefined);
    setDone(undefined);
    clear();
  };
  const wasOf = (name: string): unknown => edits[name]?.was ?? values.get(name)?.given?.value ?? null;
  const state: FormState = {
    place: place.agent === null ? site.site : `${site.site}/${place.agent}`,
    values,
    edits,
    open: openAt(open, place.agent),
    override: (name) => {
      const value = values.get(name);
      const started = value?.hidden === true ? undefined : (value?.inherited?.value ?? undefined);
      change({ [name]: editOf(wasOf(name), started) });
    },
    remove: (name) => change({ [name]: { was: wasOf(name), removed: true } }),
    drop: (name) => change({ [name]: undefined }),
    keep: (name) => {
      const own = edits[name];
      if (!own) return;
      const next = { ...edits, [name]: { ...own, was: values.get(name)?.given?.value ?? null } };
      const isInStep = Object.entries(next).every(
        ([other, { was }]) =>
          JSON.stringify(was ?? null) === JSON.stringify(values.get(other)?.given?.value ?? null),
      );
      setDraft({ ...draft, edits: next, version: isInStep ? site.version : draft.version });
      setPreview(undefined);
    },
  };
  const take = (next: Data = {}): void => {
    const edited = place.values.filter(
      (one) =>
        one.editable &&
        isOverridden(one, edits[one.name]) &&
        JSON.stringify(next[one.name]) !== JSON.stringify(data[one.name]),
    );
    if (edited.length === 0) return;
    change(Object.fromEntries(edited.map(({ name }) => [name, editOf(wasOf(name), next[name])])));
  };

  const body = (): ChangeBody => ({
    site: site.site,
    ...defined({ agent: place.agent ?? undefined }),
    ...changesOf(edits),
    version: draft.version,
  });
  const look = (): Promise<void> =>
    ask(async () => setPreview(await send((options) => valuesPreview({ valuesChange: body() }, options))));
  const submit = (): Promise<void> =>
    ask(async () => {
      const asked = { ...body(), reason: draft.reason.trim() };
      const answer = await send((options) => valuesChange({ valuesChange: asked }, options), {
        key: request,
      });
      setDone(answer);
      setDraft(empty(site.version));
      setPreview(undefined);
      setRequest(crypto.randomUUID());
      await revalidate();
    });

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
        isPreviewable={judged.length === 0}
        look={look}
        discard={() => change(withoutEdits(edits))}
        explain={(reason) => setDraft({ ...draft, reason })}
        submit={submit}
      />
    </>
  );
}

/** Open proposals in the repository that reach the place, by the name of their value. */
const openAt = (answer: ValuesOpen | Refusal | undefined, agent: string | null): FormState['open'] =>
  Map.groupBy(
    answer === undefined || answer instanceof Refusal
      ? []
      : (answer.proposals ?? []).filter(({ agents }) => agent === null || agents.includes(agent)),
    ({ name }) => name,
  );

const empty = (version: number): Draft => ({ version, edits: {}, reason: '' });

const pick = (data: Data, values: readonly FormValue[]): Data =>
  Object.fromEntries(values.flatMap(({ name }) => (Object.hasOwn(data, name) ? [[name, data[name]]] : [])));

const dataOf = (values: readonly FormValue[], edits: Draft['edits']): Data =>
  Object.fromEntries(
    values.flatMap((one): [string, unknown][] => {
      const edit = edits[one.name];
      if (!isOverridden(one, edit)) return [];
      if (edit !== undefined) return edit.value === undefined ? [] : [[one.name, edit.value]];
      return one.hidden || one.given === null ? [] : [[one.name, one.given.value]];
    }),
  );
