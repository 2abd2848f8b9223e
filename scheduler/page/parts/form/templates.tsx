import { Box, Fieldset, Text } from '@mantine/core';
import type { DescriptionFieldProps, ObjectFieldTemplateProps } from '@rjsf/utils';

/** Words above a checkbox, as small as those of the other fields. */
export const Description = ({ id, description }: DescriptionFieldProps) =>
  description === undefined || description === '' ? null : (
    <Text id={id} size="xs" c="dimmed">
      {description}
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
      {description !== undefined && <Text size="sm">{description}</Text>}
      {fields}
    </Fieldset>
  );
};
