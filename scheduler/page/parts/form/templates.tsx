import { Box, Fieldset, Text } from '@mantine/core';
import type { DescriptionFieldProps, ObjectFieldTemplateProps, WidgetProps } from '@rjsf/utils';
import type { ComponentType } from 'react';
import { CodeText } from './code-text.tsx';

/** Words above a checkbox, as small as those of the other fields. */
export const Description = ({ id, description }: DescriptionFieldProps) =>
  description === undefined || description === '' ? null : (
    <Text id={id} size="xs" c="dimmed">
      {typeof description === 'string' ? <CodeText text={description} /> : description}
    </Text>
  );

/** Shows the fields of an object as a column. The theme's template writes a style element, which the content security policy forbids. */
export const ObjectFields = ({ title, description, properties, fieldPathId }: ObjectFieldTemplateProps) => {
  const fields = properties
    .filter(({ hidden }) => !hidden)
    .map(({ name, content }) => (
      <Box key={name} mb="sm">
        {content}
      </Box>
    ));
  if (fieldPathId.path.length === 0) return <>{fields}</>;
  return (
    <Fieldset legend={title}>
      {description !== undefined && (
        <Text size="sm">
          {typeof description === 'string' ? <CodeText text={description} /> : description}
        </Text>
      )}
      {fields}
    </Fieldset>
  );
};

/** A widget of the theme that shows the description of its field, which some of them leave out. */
export const described = (Widget: ComponentType<WidgetProps>): ComponentType<WidgetProps> =>
  function Described(props) {
    const { options, schema, hideLabel } = props;
    const text = options.description ?? schema.description;
    const description = text === undefined || hideLabel ? undefined : <CodeText text={text} />;
    return <Widget {...props} options={{ ...options, description } as typeof options} />;
  };
