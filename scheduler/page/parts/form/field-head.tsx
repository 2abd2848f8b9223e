import { Button, Text } from '@mantine/core';
import FieldTemplate from '@rjsf/mantine/lib/templates/FieldTemplate.js';
import type { FieldTemplateProps } from '@rjsf/utils';
import type { ComponentType, ReactNode } from 'react';
import { CodeText } from './code-text.tsx';

/** The field template of the theme, for the fields inside of a value. */
export const InnerField = FieldTemplate as ComponentType<FieldTemplateProps>;

type HeadProps = Pick<FieldTemplateProps, 'label' | 'schema' | 'rawErrors'> & {
  /** Between description and errors. */
  readonly children?: ReactNode;
};

/** Label, description and errors of a value whose field is not shown. */
export const FieldHead = ({ label, schema, rawErrors = [], children }: HeadProps) => (
  <>
    <Text fw={700}>{label}</Text>
    {schema.description !== undefined && (
      <Text size="sm">
        <CodeText text={schema.description} />
      </Text>
    )}
    {children}
    {rawErrors.map((one) => (
      <Text key={one} role="alert" className="bad-text">
        {one}
      </Text>
    ))}
  </>
);

type NotEditableProps = { readonly what: string; readonly editableBy: string | null };

/** Who may change a value that the person may not change. */
export const NotEditable = ({ what, editableBy }: NotEditableProps) => (
  <Text size="sm">
    {what}: {editableBy === null ? 'only the platform team does' : `it is for ${editableBy}`}.
  </Text>
);

type ActionProps = { readonly title: string; readonly what: string; readonly act: () => void };

/** A button of a value, which screen readers name with the value. */
export const FieldAction = ({ title, what, act }: ActionProps) => (
  <Button size="xs" variant="default" onClick={act} aria-label={`${title}: ${what}`}>
    {title}
  </Button>
);
