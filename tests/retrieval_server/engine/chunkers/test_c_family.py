"""C, C++ and CUDA."""

from tests.retrieval_server.engine.chunkers.spans import chunks_in, outline

HEADER = """\
#ifndef POOL_H_
#define POOL_H_

#include <cstddef>

namespace acme::memory {

/// Hands out blocks.
template <typename T>
class Pool : public Base {
 public:
  // Takes a block.
  T* take(std::size_t size);  // or null

  void give(T* block) { free_.push_back(block); }

  bool operator==(const Pool& other) const;
  ~Pool();

 private:
  std::vector<T*> free_;
};

}  // namespace acme::memory

extern "C" {
int pool_count(void);
}

#endif  // POOL_H_
"""


def test_a_small_header_is_one_chunk_with_the_names_in_it():
    (only,) = chunks_in(HEADER, "c")
    assert only.breadcrumbs == ()
    assert only.names == ("Pool", "take", "give", "operator==", "~Pool", "pool_count")


def test_a_guarded_header_is_cut_by_what_is_inside_its_namespaces():
    assert outline(HEADER, "cpp", 350) == [
        ((), "#ifndef POOL_H_"),
        (("acme", "memory", "Pool"), "namespace acme::memory {"),
        (("pool_count",), 'extern "C" {'),
    ]
    assert chunks_in(HEADER, "cpp", 350)[1].names == ("Pool", "take", "give", "operator==", "~Pool")


def test_a_class_that_is_too_large_is_cut_by_its_members():
    found = outline(HEADER, "cpp", 170)
    assert found[1:] == [
        (("acme", "memory", "Pool", "take"), "namespace acme::memory {"),
        (("acme", "memory", "Pool"), "  void give(T* block) { free_.push_back(block); }"),
        (("acme", "memory", "Pool"), " private:"),
        (("pool_count",), 'extern "C" {'),
    ]


def test_what_is_defined_outside_its_class_is_named_by_it():
    text = "int *ns::Pool<int>::take() { return 0; }\n"
    (only,) = chunks_in(text, "cpp")
    assert (only.breadcrumbs, only.names) == (("ns", "Pool", "take"), ("take",))


def test_methods_of_one_class_share_its_breadcrumb_and_those_of_several_do_not():
    text = "void A::f() {}\n\nvoid A::g() {}\n"
    assert [(c.breadcrumbs, c.names) for c in chunks_in(text, "cpp")] == [(("A",), ("f", "g"))]
    assert [(c.breadcrumbs, c.names) for c in chunks_in(f"{text}\nvoid B::h() {{}}\n", "cpp")] == [
        ((), ("f", "g", "h"))
    ]


def test_what_announces_a_type_or_guards_a_file_defines_nothing():
    text = "#define GUARD\nclass Later;\nstruct Now { int x; };\ntypedef struct { int y; } Alias;\n#define SIZE 4\n"
    (only,) = chunks_in(text, "cpp")
    assert only.names == ("Now", "Alias", "SIZE")


def test_both_branches_of_a_condition_are_read():
    text = "#ifdef A\nint one() { return; }\n#elif B\nint two() { return; }\n#else\nint three() { return; }\n#endif\n"
    assert outline(text, "c", 48) == [
        (("one",), "#ifdef A"),
        (("two",), "#elif B"),
        (("three",), "#else"),
    ]


def test_a_class_with_an_export_macro_is_cut_like_any_class():
    members = "".join(f"  int member{i}() {{ return {i}; }}\n" for i in range(20))
    found = chunks_in(f"class API_EXPORT Pool {{\n public:\n{members}}};\n", "cpp", 300)
    assert len(found) > 2
    assert {c.breadcrumbs for c in found} == {("Pool",)}
    assert found[0].names[0] == "member0"


def test_a_kernel_is_a_function():
    text = "template <int N>\n__global__ void __launch_bounds__(256) scale(float* out) {\n  out[threadIdx.x] *= N;\n}\n"
    (only,) = chunks_in(text, "cuda")
    assert only.breadcrumbs == ("scale",)


def test_a_header_of_c_may_hold_c_plus_plus_cuda_or_what_only_c_allows():
    assert chunks_in("namespace a { struct B {}; }\n", "c")[0].breadcrumbs == ("a", "B")
    assert chunks_in("__device__ int f() { return 1; }\n", "c")[0].breadcrumbs == ("f",)
    assert chunks_in("int f(int class) { int new = class; return new; }\n", "c")[0].breadcrumbs == ("f",)


def test_what_closes_a_namespace_makes_no_chunk_of_its_own():
    body = "  work();\n" * 20
    text = f"namespace a {{\nvoid f() {{\n{body}}}\n\n}};  // namespace a\n"
    assert len(outline(text, "cpp", len(text))) == 1
    assert outline(text, "cpp", len(text) - 20)[-1][0] == ("a", "f")


def test_a_class_that_is_defined_with_its_instance_is_cut_like_any_class():
    methods = "".join(f"  int reckon{i}() {{ return {i}; }}\n" for i in range(20))
    found = chunks_in(f"class Tides : public Basin {{\npublic:\n{methods}}} tides;\n", "cpp", 300)
    assert len(found) > 2
    assert {c.breadcrumbs for c in found} == {("Tides",)}
    assert "Tides" in found[0].names
    assert "reckon19" in found[-1].names
    [small] = chunks_in("static const struct Tide { int hour; } high = { 12 };\n", "c", 300)
    assert small.names == ("high",)


def test_a_function_that_a_condition_leaves_broken_is_known():
    text = "int\ntide_at(int hour) {\n#ifdef A\n  if (hour) {\n#else\n  if (!hour) {\n#endif\n    return 1;\n  }\n"
    [found] = chunks_in(f"{text}  return 0;\n}}\n", "c", 400)
    assert "tide_at" in found.names
