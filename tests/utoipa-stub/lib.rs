//! utoipa's macros without their effect. In tests shunt is built with utoipa, which generates the API's document; the program is
//! built with these, and serves the document as a file.

use proc_macro::TokenStream;

/// Leaves a handler as it is.
#[proc_macro_attribute]
pub fn path(_: TokenStream, handler: TokenStream) -> TokenStream {
    handler
}

/// Generates nothing.
#[proc_macro_derive(ToSchema, attributes(schema))]
pub fn to_schema(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// Generates nothing.
#[proc_macro_derive(IntoParams, attributes(into_params, param))]
pub fn into_params(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
