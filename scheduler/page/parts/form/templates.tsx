import { Box, Fieldset, Text } from '@mantine/core';
import type { ObjectFieldTemplateProps } from '@rjsf/utils';

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
