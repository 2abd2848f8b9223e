import { Alert, Anchor, Group, Text } from '@mantine/core';
import type { FieldTemplateProps } from '@rjsf/utils';
import type { ReactNode } from 'react';
import type { PlacedValue, ValuesOfSite, ValuesOpen } from '#bundles/schemas/types/hub-decisions';
import type { Edit } from '../../api/drafts.ts';
import { At } from '../age.tsx';
import { BAD } from '../bad.ts';
import { JsonText } from '../json-text.tsx';
import { labelText } from '../label-text.ts';
import { By, Placed } from '../placed-value.tsx';
import { FieldAction, FieldHead, InnerField, NotEditable } from './field-head.tsx';

export type FormValue = ValuesOfSite['places'][number]['values'][number];

type OpenProposal = NonNullable<ValuesOpen['proposals']>[number];

/** State and actions of the form, for the fields of values. */
export type FormState = {
  /** '<site>' or '<site>/<agent>' */
  readonly place: string;
  readonly values: ReadonlyMap<string, FormValue>;
  readonly edits: Readonly<Record<string, Edit>>;
  /** Open proposals in the repository, by the name of their value. */
  readonly open: ReadonlyMap<string, readonly OpenProposal[]>;
  readonly override: (name: string) => void;
  readonly remove: (name: string) => void;
  readonly drop: (name: string) => void;
  /** Keeps an edit of a value that somebody changed meanwhile: the edit starts from the present value. */
  readonly keep: (name: string) => void;
};

/** Whether the place has a value of its own, with the edits that are not sent yet. */
export const isOverridden = ({ given }: FormValue, edit: Edit | undefined): boolean =>
  edit === undefined ? given !== null : edit.removed !== true;

/** One value of the form: its field or the inherited value, the origin of both, and the buttons that override or remove it. */
export const ValueField = (props: FieldTemplateProps) => {
  const { fieldPathId, registry } = props;
  const { path } = fieldPathId;
  const state = registry.formContext as FormState;
  const value = path.length === 1 ? state.values.get(String(path[0])) : undefined;
  if (value === undefined) return <InnerField {...props} />;
  return <Value {...props} value={value} state={state} />;
};

type ValueProps = FieldTemplateProps & { readonly value: FormValue; readonly state: FormState };

const Value = ({ children, label, rawErrors, schema, value, state }: ValueProps) => {
  const { name, given, editable } = value;
  const edit = state.edits[name];
  const isOwn = isOverridden(value, edit);
  const about = `${label} of ${state.place}`;
  return (
    <section className="value" aria-label={about}>
      {isOwn && editable ? (
        children
      ) : (
        <FieldHead label={label} schema={schema} rawErrors={rawErrors}>
          <Text>{isOwn ? <Placed of={given} /> : <Inherited value={value} />}</Text>
        </FieldHead>
      )}
      <About value={value} edit={edit} isOwn={isOwn} />
      {state.open.get(name)?.map((one) => (
        <Proposed key={`${one.branch} ${labelText(one.siteSelector)}`} of={one} />
      ))}
      <Meanwhile given={given} edit={edit} hidden={value.hidden}>
        <FieldAction title="Keep my edit" what={about} act={() => state.keep(name)} />
        <FieldAction title="Take theirs" what={about} act={() => state.drop(name)} />
      </Meanwhile>
      <Group gap="xs" mt="xs">
        {editable && !isOwn && (
          <FieldAction title="Override here" what={about} act={() => state.override(name)} />
        )}
        {editable && isOwn && given !== null && (
          <FieldAction title="Remove the override" what={about} act={() => state.remove(name)} />
        )}
        {edit !== undefined && (
          <FieldAction title="Leave it as it is" what={about} act={() => state.drop(name)} />
        )}
      </Group>
    </section>
  );
};

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
      {!editable && <NotEditable what="You may not change it here" editableBy={editableBy} />}
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

/** A proposal in the repository that changes the value, here or in a layer of the place. */
const Proposed = ({ of }: { readonly of: OpenProposal }) => {
  const { person, at, siteSelector, branch, pullRequest } = of;
  return (
    <Text size="sm">
      {person} proposed another value for {labelText(siteSelector) || 'all sites'} at <At at={at} />:{' '}
      {pullRequest === null ? (
        <>
          branch <code>{branch}</code>
        </>
      ) : (
        <Anchor href={pullRequest} rel="noreferrer" target="_blank" underline="always">
          open pull request
        </Anchor>
      )}
      .
    </Text>
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
