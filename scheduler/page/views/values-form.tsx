import { Button, Group, Textarea, Title } from '@mantine/core';
import { type FormEvent, useEffect, useMemo, useState } from 'react';
import { useRevalidator } from 'react-router';
import { defined } from '#bundles/defined';
import {
  valuesChange,
  type ValuesChange as ChangeBody,
  type ValuesChanged,
  valuesPreview,
  type ValuesOfSite,
  type ValuesPreview,
} from '#bundles/transport/hub/client';
import { send } from '../api/ask.ts';
import { type Draft, type Edit, keepDraft, readDraft } from '../api/drafts.ts';
import { useMe } from '../api/me.ts';
import { useSending } from '../api/sending.ts';
import { SchemaForm } from '../parts/form/schema-form.tsx';
import { findFaults } from '../parts/form/validator.ts';
import { Done, Previewed } from '../parts/form/value-preview.tsx';
import { schemaOf, toErrors, uiOf } from '../parts/form/value-schema.ts';
import { type FormState, type FormValue, isOverridden, ValueField } from '../parts/form/value-field.tsx';
import { Refused } from '../parts/with-reason.tsx';

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
  const { isSending, fault, clear, ask } = useSending();
  /** The Idempotency-Key of this change: a request that is repeated after a lost answer takes effect once. */
  const [request, setRequest] = useState(() => crypto.randomUUID());
  const { edits } = draft;
  const hasEdits = Object.keys(edits).length > 0;
  const secrets = useMemo(
    () => new Set(place.values.filter(({ hidden }) => hidden).map(({ name }) => name)),
    [place],
  );
  useEffect(() => keepDraft(key, draft, secrets), [key, draft, secrets]);

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
    const next = Object.entries({ ...edits, ...edited }).flatMap(([name, one]) =>
      one ? [[name, one] as const] : [],
    );
    setDraft({
      ...draft,
      // Without an edit the form follows the newest version.
      version: hasEdits ? draft.version : site.version,
      edits: Object.fromEntries(next),
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
    override: (name) => {
      const value = values.get(name);
      const started = value?.hidden === true ? undefined : (value?.inherited?.value ?? undefined);
      change({ [name]: started === undefined ? { was: wasOf(name) } : { was: wasOf(name), value: started } });
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
    change(
      Object.fromEntries(
        edited.map(({ name }) => {
          const value = next[name];
          return [name, value === undefined ? { was: wasOf(name) } : { was: wasOf(name), value }];
        }),
      ),
    );
  };

  const body = (): ChangeBody => ({
    site: site.site,
    ...defined({ agent: place.agent ?? undefined }),
    set: Object.fromEntries(
      Object.entries(edits).flatMap(([name, one]) => (one.removed === true ? [] : [[name, one.value]])),
    ),
    unset: Object.entries(edits).flatMap(([name, one]) => (one.removed === true ? [name] : [])),
    version: draft.version,
  });
  const look = (): Promise<void> =>
    ask(async () => setPreview(await send((options) => valuesPreview({ valuesChange: body() }, options))));
  const submit = (event: FormEvent): Promise<void> => {
    event.preventDefault();
    return ask(async () => {
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
  };

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
      {hasEdits && (
        <Group mt="md">
          <Button loading={isSending} disabled={judged.length > 0} onClick={() => void look()}>
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
      {preview !== undefined && (
        <section aria-label="Preview">
          <Title order={2}>Preview</Title>
          <Previewed preview={preview} />
          {preview.faults.length === 0 && preview.sites.length > 0 && (
            <form onSubmit={(event) => void submit(event)}>
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
