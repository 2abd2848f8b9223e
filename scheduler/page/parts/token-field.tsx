import { PasswordInput, type PasswordInputProps } from '@mantine/core';

/** The field `token` of a form. Browsers offer neither to fill it in nor to keep it. */
export const TokenField = (props: Pick<PasswordInputProps, 'label' | 'description' | 'mt'>) => (
  <PasswordInput
    {...props}
    name="token"
    autoComplete="off"
    required
    withAsterisk={false}
    visibilityToggleButtonProps={{ 'aria-label': 'Show the token', tabIndex: 0 }}
  />
);
