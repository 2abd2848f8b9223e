import { Alert, Button, Group, Text } from '@mantine/core';
import FieldTemplate from '@rjsf/mantine/lib/templates/FieldTemplate.js';
import type { FieldTemplateProps } from '@rjsf/utils';
import type { ComponentType, ReactNode } from 'react';
import type { PlacedValue, ValuesOfSite } from '#bundles/transport/hub/client';
import type { Edit } from '../../api/drafts.ts';
import { At } from '../age.tsx';
import { BAD } from '../bad.ts';
import { JsonText } from '../json-text.tsx';

export type FormValue = ValuesOfSite['places'][number]['values'][number];

/** State and actions of the form, for the fields of values. */
export type FormState = {
  /** '<site>' or '<site>/<agent>' */
  readonly place: string;
  readonly values: ReadonlyMap<string, FormValue>;
  readonly edits: Readonly<Record<string, Edit>>;
  readonly override: (name: string) => void;
  readonly remove: (name: string) => void;
  readonly drop: (name: string) => void;
  /** Keeps an edit of a value that somebody changed meanwhile: the edit starts from the present value. */
  readonly keep: (name: string) => void;
};

/** The field template of the theme, for the fields inside of a value. */
const Plain = FieldTemplate as ComponentType<FieldTemplateProps>;

/** Whether the place has a value of its own, with the edits that are not sent yet. */
export const isOverridden = ({ given }: FormValue, edit: Edit | undefined): boolean =>
  edit === undefined ? given !== null : edit.removed !== true;

/** A value at the top of the form: its field or the value that it inherits, where that comes from, and what can be done. */
export const ValueField = (props: FieldTemplateProps) => {
  const { fieldPathId, registry } = props;
  const { path } = fieldPathId;
  const state = registry.formContext as FormState;
  const value = path.length === 1 ? state.values.get(String(path[0])) : undefined;
  if (value === undefined) return <Plain {...props} />;
  return <Value {...props} value={value} state={state} />;
};

type ValueProps = FieldTemplateProps & { readonly value: FormValue; readonly state: FormState };

const Value = ({ children, label, rawErrors = [], schema, value, state }: ValueProps) => {
  const { name, given, editable } = value;
  const edit = state.edits[name];
  const isOwn = isOverridden(value, edit);
  const about = `${label} of ${state.place}`;
  return (
    <section className="value" aria-label={about}>
      {isOwn && editable ? (
        children
      ) : (
        <>
          <Text fw={700}>{label}</Text>
          {schema.description !== undefined && <Text size="sm">{schema.description}</Text>}
          <Text>{isOwn ? <Placed of={given} /> : <Inherited value={value} />}</Text>
          {rawErrors.map((one) => (
            <Text key={one} role="alert" className="bad-text">
              {one}
            </Text>
          ))}
        </>
      )}
      <About value={value} edit={edit} isOwn={isOwn} />
      <Meanwhile given={given} edit={edit} hidden={value.hidden}>
        <Action title="Keep my edit" what={`Keep my edit: ${about}`} act={() => state.keep(name)} />
        <Action title="Take theirs" what={`Take theirs: ${about}`} act={() => state.drop(name)} />
      </Meanwhile>
      <Group gap="xs" mt="xs">
        {editable && !isOwn && (
          <Action title="Override here" what={`Override here: ${about}`} act={() => state.override(name)} />
        )}
        {editable && isOwn && given !== null && (
          <Action
            title="Remove the override"
            what={`Remove the override: ${about}`}
            act={() => state.remove(name)}
          />
        )}
        {edit !== undefined && (
          <Action
            title="Leave it as it is"
            what={`Leave it as it is: ${about}`}
            act={() => state.drop(name)}
          />
        )}
      </Group>
    </section>
  );
};

type ActionProps = { readonly title: string; readonly what: string; readonly act: () => void };

const Action = ({ title, what, act }: ActionProps) => (
  <Button size="xs" variant="default" onClick={act} aria-label={what}>
    {title}
  </Button>
);

type AboutProps = { readonly value: FormValue; readonly edit: Edit | undefined; readonly isOwn: boolean };

/** Where the value comes from, what takes it, and what keeps it from being changed. */
const About = ({ value, edit, isOwn }: AboutProps) => {
  const { name, given, inherited, differs, editable, editableBy, assignments } = value;
  return (
    <>
      <Text size="sm" className="source">
        <code>{name}</code>, for {assignments.join(', ')}
        {isOwn && given !== null && edit === undefined && (
          <>
            . Given here
            <By of={given} />
          </>
        )}
        {isOwn && !differs && inherited !== null && (
          <>
            . Overrides <Placed of={inherited} />
          </>
        )}
      </Text>
      {!editable && (
        <Text size="sm">
          You may not change it here:{' '}
          {editableBy === null ? 'only the platform team does' : `it is for ${editableBy}`}.
        </Text>
      )}
      <Remarks value={value} isEdited={edit !== undefined} />
    </>
  );
};

const Remarks = ({ value, isEdited }: { readonly value: FormValue; readonly isEdited: boolean }) => {
  const { fixed, local = null, overriddenAt, fault, proposal } = value;
  return (
    <>
      {overriddenAt.length > 0 && (
        <Text size="sm">Agents with a value of their own: {overriddenAt.join(', ')}</Text>
      )}
      {local !== null && (
        <Text size="sm">
          Set at the site: <Placed of={local} />
          <By of={local} />. It counts there until the office accepts or refuses it.
        </Text>
      )}
      {fixed !== null && (
        <Text size="sm">
          The platform team has fixed it: <Placed of={fixed} /> counts here, whatever is set.
        </Text>
      )}
      {fault !== null && !isEdited && (
        <Text size="sm" className="bad-text">
          Packages are not applied with the value that counts now: {fault}
        </Text>
      )}
      {proposal !== null && (
        <Text size="sm">
          A change by {proposal.person} of <At at={proposal.at} /> waits for review as {proposal.id}.
        </Text>
      )}
    </>
  );
};

type MeanwhileProps = {
  readonly given: PlacedValue;
  readonly edit: Edit | undefined;
  /** The text of a secret is not shown. */
  readonly hidden: boolean;
  readonly children: ReactNode;
};

/** Says who changed a value that is being edited. */
const Meanwhile = ({ given, edit, hidden, children }: MeanwhileProps) => {
  if (edit === undefined) return null;
  if (JSON.stringify(edit.was ?? null) === JSON.stringify(given?.value ?? null)) return null;
  return (
    <Alert role="alert" variant="default" classNames={BAD} title="VALUES_CHANGED" my="xs">
      {given === null ? (
        'Somebody removed this value while you edited it.'
      ) : (
        <>
          {given.person ?? 'A rule'} changed this value while you edited it: it is now <Placed of={given} />
          <By of={given} />
        </>
      )}
      {!hidden && (
        <Text>Yours: {edit.removed === true ? 'none at this place' : <JsonText value={edit.value} />}</Text>
      )}
      <Group mt="xs">{children}</Group>
    </Alert>
  );
};

const Inherited = ({ value: { inherited, differs } }: { readonly value: FormValue }) => {
  if (differs) return <>Inherited: agents of this site have different values</>;
  if (inherited === null) return <>No value: the field stays as the package has it</>;
  return (
    <>
      Inherited: <Placed of={inherited} />
    </>
  );
};

const ORIGINS: Readonly<Record<string, string>> = {
  default: 'default of the application',
  layers: 'layers of the platform',
  site: 'value of the site',
  agent: 'value of the agent',
  local: 'local value',
  'fixed layers': 'fixed layer of the platform',
};

const Placed = ({ of }: { readonly of: PlacedValue }) =>
  of === null ? (
    <>no value</>
  ) : (
    <>
      <JsonText value={of.value} /> ({ORIGINS[of.origin] ?? of.origin}
      {of.settings?.map(({ layer, at }) => `, ${layer} at ${at}`).join('')})
    </>
  );

const By = ({ of }: { readonly of: NonNullable<PlacedValue> }) =>
  of.since === undefined ? null : (
    <>
      {' '}
      by {of.person ?? 'a rule'}, <At at={of.since} />
      {of.reason ? `: ${of.reason}` : ''}
    </>
  );
