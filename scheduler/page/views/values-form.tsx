import { Alert, Button, Group, List, Text, Textarea, Title } from '@mantine/core';
import type { ErrorSchema, RJSFSchema, UiSchema } from '@rjsf/utils';
import { type FormEvent, useEffect, useMemo, useState } from 'react';
import { useNavigate, useRevalidator } from 'react-router';
import { defined } from '#bundles/defined';
import {
  valuesChange,
  type ValuesChange as ChangeBody,
  type ValuesChanged,
  valuesPreview,
  type ValuesOfSite,
  type ValuesPreview,
} from '#bundles/transport/hub/client';
import { Refusal, send, signInAddress } from '../api/ask.ts';
import { type Draft, type Edit, keepDraft, readDraft } from '../api/drafts.ts';
import { useMe } from '../api/me.ts';
import { ChangedValues } from '../parts/changed-values.tsx';
import { shortDigest } from '../parts/digest.tsx';
import { SchemaForm } from '../parts/form/theme.ts';
import { findFaults, validator } from '../parts/form/validator.ts';
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
  const navigate = useNavigate();
  const { revalidate } = useRevalidator();
  const key = useMemo(
    () => [me?.person ?? null, site.site, place.agent],
    [me?.person, site.site, place.agent],
  );
  const [draft, setDraft] = useState<Draft>(() => readDraft(key) ?? empty(site.version));
  const [preview, setPreview] = useState<ValuesPreview>();
  const [fault, setFault] = useState<Refusal>();
  const [done, setDone] = useState<ValuesChanged>();
  const [isSending, setSending] = useState(false);
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
    setFault(undefined);
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

  /** Sends a request, and leads to the sign-in and back when the session has ended meanwhile. */
  const ask = async (work: () => Promise<void>): Promise<void> => {
    setSending(true);
    setFault(undefined);
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.status === 401) await navigate(signInAddress(true));
      else setFault(error);
    } finally {
      setSending(false);
    }
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
        validator={validator}
        templates={TEMPLATES}
        tagName="div"
        idPrefix="value"
        noValidate
        extraErrors={errors}
        showErrorList={false}
        experimental_defaultFormStateBehavior={{ emptyObjectFields: 'skipDefaults' }}
        onChange={({ formData }) => take(formData as Data)}
      >
        <></>
      </SchemaForm>
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

const Done = ({ changed }: { readonly changed: ValuesChanged }) => (
  <Alert
    role="status"
    variant="default"
    mt="md"
    title={changed.outcome === 'proposed' ? 'Submitted for review' : 'Done'}
  >
    {describeDone(changed)}
  </Alert>
);

const describeDone = ({ outcome, sites, rollouts, proposal }: ValuesChanged): string => {
  switch (outcome) {
    case 'proposed':
      return `The change waits for approval as ${shortDigest(proposal ?? '')}. Nothing was changed yet.`;
    case 'unchanged':
      return 'Nothing differed.';
    case 'made': {
      const signed = sites.map(({ site, version }) => `${site} is at statement ${version}`).join(', ');
      const staged = rollouts.length > 0 ? ' A rollout brings the change to agents in stages.' : '';
      return `${signed === '' ? '' : `${signed}. Agents take it from the network or the next medium.`}${staged}`;
    }
  }
};

/** The sites and packages that a change reaches, old and new, and what speaks against it. */
const Previewed = ({ preview: { sites, faults, warnings, review } }: { readonly preview: ValuesPreview }) => (
  <>
    {faults.length > 0 && (
      <Alert role="alert" variant="outline" color="red" title="It cannot be made like this">
        <List>
          {faults.map(({ name, code, message }) => (
            <List.Item key={`${name} ${message}`}>
              {code}: {message}
            </List.Item>
          ))}
        </List>
      </Alert>
    )}
    {sites.length === 0 && faults.length === 0 && <Text>Nothing differs from what is there.</Text>}
    {sites.length > 0 && (
      <ChangedValues
        label="Values that change"
        changes={sites.flatMap(({ site, changes }) => changes.map((one) => ({ site, ...one })))}
      />
    )}
    {sites.map(({ site, packages }) => (
      <Text key={site}>
        {packages.length === 0
          ? `No package at ${site} takes a value that changes.`
          : `Applied again at ${site}: ${packages.map(({ agent, assignment, names }) => `${assignment} on ${agent} (${names.join(', ')})`).join('; ')}.`}
      </Text>
    ))}
    {warnings.map(({ agent, assignment, name, message }) => (
      <Alert
        key={`${agent} ${assignment} ${name}`}
        role="status"
        variant="outline"
        color="red"
        my="xs"
        title={`${assignment} on ${agent} would not be applied any more`}
      >
        {message}
      </Alert>
    ))}
    {review.map(({ name, required }) => (
      <Text key={name}>
        It needs {required} {required === 1 ? 'approval' : 'approvals'} of others
        {name === 'approvals' ? '' : ` (${name})`}.
      </Text>
    ))}
  </>
);

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

/** Without defaults: an inherited value is shown as such, and not filled in. */
const schemaOf = (values: readonly FormValue[]): RJSFSchema => ({
  type: 'object',
  properties: Object.fromEntries(
    values.map(({ name, schema }) => {
      const { default: _, ...own } = schema as RJSFSchema;
      const unit = (own as { readonly 'x-unit'?: unknown })['x-unit'];
      const title = `${own.title ?? name}${typeof unit === 'string' ? ` (${unit})` : ''}`;
      const [example] = Array.isArray(own.examples) ? own.examples : [];
      const description = [
        own.description,
        example === undefined ? undefined : `Example: ${JSON.stringify(example)}`,
      ]
        .filter((part) => part !== undefined)
        .join(' ');
      return [
        name,
        { ...own, title, ...defined({ description: description === '' ? undefined : description }) },
      ];
    }),
  ),
});

const uiOf = (values: readonly FormValue[]): UiSchema =>
  Object.fromEntries(
    values.map(({ name, schema, hidden }) => {
      const ui = optionsOf(schema as RJSFSchema);
      return [name, hidden ? { ...ui, 'ui:options': { inputType: 'password' } } : ui];
    }),
  );

/** The buttons of number fields cannot be reached by keyboard, and the arrow keys do the same. What is typed stays, also outside of the limits. */
const NUMBER = { hideControls: true, clampBehavior: 'none' };

const optionsOf = ({ type, properties = {}, items }: RJSFSchema): UiSchema => ({
  ...defined({
    'ui:options': type === 'number' || type === 'integer' ? NUMBER : undefined,
    items: items === undefined || Array.isArray(items) ? undefined : optionsOf(items as RJSFSchema),
  }),
  ...Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [name, optionsOf(one as RJSFSchema)]),
  ),
});

const toErrors = (
  faults: readonly { readonly path: readonly string[]; readonly message: string }[],
): ErrorSchema => {
  const root: Record<string, unknown> = {};
  for (const { path, message } of faults) {
    let at = root;
    for (const part of path) {
      at[part] ??= {};
      at = at[part] as Record<string, unknown>;
    }
    at['__errors'] = [...((at['__errors'] as string[] | undefined) ?? []), message];
  }
  return root as ErrorSchema;
};
